"""Command line of the ledger."""

import os
import sys
import tempfile

import book
import money

OPTIONS = {
    "balance": ("--as-of", "--out"),
    "report": ("--as-of", "--rate", "--out"),
    "check": ("--out",),
}


class UsageError(Exception):
    """The command line is wrong."""


def main(argv):
    """Run one command line (without the program's name) and return its exit code."""
    try:
        command, options, paths = parse(argv)
        entries = book.read_entries(paths)
        code, lines = COMMANDS[command](entries, options)
        emit("".join(line + "\n" for line in lines), options.get("--out"))
        return code
    except book.BookError as fault:
        print(f"ledger: {fault}", file=sys.stderr)
        return 2
    except UsageError as fault:
        print(f"ledger: {fault}", file=sys.stderr)
        return 3


def parse(argv):
    """Return command, options and files of a command line."""
    if not argv or argv[0] not in OPTIONS:
        raise UsageError(f"the command must be one of: {', '.join(OPTIONS)}")
    command, rest, options = argv[0], list(argv[1:]), {}
    while rest and rest[0].startswith("-") and rest[0] != "-":
        name = rest.pop(0)
        if name not in OPTIONS[command]:
            raise UsageError(f"{command} has no option {name}")
        if not rest:
            raise UsageError(f"{name} needs a value")
        options[name] = rest.pop(0)
    if not rest:
        raise UsageError("no file given")
    try:
        if "--as-of" in options:
            book.check_date(options["--as-of"])
        money.scale(0, options.get("--rate", "1"))
    except ValueError as fault:
        raise UsageError(str(fault)) from fault
    return command, options, rest


def balance(entries, options):
    rows = book.balances(book.counting(entries, options.get("--as-of")))
    rows.append(("TOTAL", sum(minor for _, minor in rows)))
    return 0, [f"{account}\t{money.format_amount(minor)}" for account, minor in rows]


def report(entries, options):
    rows = book.roll_up(book.counting(entries, options.get("--as-of")), options.get("--rate", "1"))
    rows.append(("TOTAL", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    return 0, [f"{part}\t{count}\t{money.format_amount(minor)}" for part, count, minor in rows]


def check(entries, options):
    findings = []
    for entry in entries:
        total = sum(posting.minor for posting in entry.postings)
        if entry.duplicate:
            findings.append(f"duplicate\t{entry.name}")
        elif total != 0:
            findings.append(f"unbalanced\t{entry.name}\t{money.format_amount(total)}")
    if findings:
        return 1, findings
    return 0, [f"ok\t{len(entries)}"]


COMMANDS = {"balance": balance, "report": report, "check": check}


def emit(text, out):
    """Write text to standard output, or let it replace the file out."""
    data = text.encode("utf-8")
    if out is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(out) or ".", prefix=".ledger-")
        with open(handle, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), 0o644)
        os.replace(temporary, out)
    except OSError as fault:
        if temporary is not None:
            os.unlink(temporary)
        raise UsageError(f"{out}: cannot be written: {fault.strerror}") from fault


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
