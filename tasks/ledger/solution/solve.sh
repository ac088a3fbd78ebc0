#!/bin/sh
# Lays the reference solution over the workspace, the current folder.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cp "$here/ledger.py" "$here/book.py" "$here/money.py" .
