"""Reading of ledger files and adding up."""

import datetime
import re
import sys
from dataclasses import dataclass, field

import money

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class BookError(Exception):
    """A file cannot be used; the message names it."""


@dataclass
class Posting:
    date: str
    account: str
    minor: int


@dataclass
class Entry:
    name: str
    duplicate: bool
    postings: list = field(default_factory=list)


def check_date(text):
    """Return text if it is a calendar day written as YYYY-MM-DD; ValueError if not."""
    if not _DATE.fullmatch(text):
        raise ValueError(f"not a date: {text!r}")
    datetime.date.fromisoformat(text)
    return text


def read_entries(paths):
    """Return the entries of all files in their order."""
    entries, used = [], set()
    for path in paths:
        current = None
        for number, line in enumerate(_lines(path), start=1):
            if line.startswith("#") or not line.strip(" \t"):
                continue
            try:
                name, posting = _posting(line)
            except ValueError as fault:
                raise BookError(f"{path}:{number}: {fault}") from fault
            if current is None or current.name != name:
                current = Entry(name, duplicate=name in used)
                used.add(name)
                entries.append(current)
            current.postings.append(posting)
    return entries


def counting(entries, as_of):
    """Return the postings that balance and report count."""
    return [
        posting
        for entry in entries
        if not entry.duplicate
        for posting in entry.postings
        if as_of is None or posting.date <= as_of
    ]


def balances(postings):
    """Return (account, sum) for each account, in account order."""
    sums = {}
    for posting in postings:
        sums[posting.account] = sums.get(posting.account, 0) + posting.minor
    return sorted(sums.items(), key=lambda item: item[0].split(":"))


def roll_up(postings, rate):
    """Return (first part, postings, scaled sum), the largest absolute sum first."""
    groups = {}
    for posting in postings:
        count, minor = groups.get(posting.account.split(":")[0], (0, 0))
        groups[posting.account.split(":")[0]] = (count + 1, minor + posting.minor)
    rows = [(part, count, money.scale(minor, rate)) for part, (count, minor) in groups.items()]
    return sorted(rows, key=lambda row: (-abs(row[2]), row[0]))


def _lines(path):
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                data = file.read()
        text = data.decode("utf-8-sig")
    except OSError as fault:
        raise BookError(f"{path}: cannot be read: {fault.strerror}") from fault
    except UnicodeDecodeError as fault:
        raise BookError(f"{path}: not UTF-8 at byte {fault.start}") from fault
    return [line.removesuffix("\r") for line in text.split("\n")]


def _posting(line):
    fields = _fields(line)
    if not 4 <= len(fields) <= 5:
        raise ValueError(f"{len(fields)} fields instead of 4 or 5")
    date, name, account, amount = (text.strip(" ") for text in fields[:4])
    check_date(date)
    if not name:
        raise ValueError("no entry")
    if not all(account.split(":")):
        raise ValueError(f"account {account!r} has an empty part")
    return name, Posting(date, account, money.parse_amount(amount))


def _fields(line):
    fields, at = [], 0
    while True:
        if line[at : at + 1] == '"':
            value, at = _quoted(line, at + 1)
        else:
            end = line.find(",", at)
            end = len(line) if end < 0 else end
            value, at = line[at:end], end
        fields.append(value)
        if at == len(line):
            return fields
        at += 1


def _quoted(line, at):
    value = ""
    while True:
        end = line.find('"', at)
        if end < 0:
            raise ValueError("a quoted field is not closed")
        value += line[at:end]
        if line[end + 1 : end + 2] == '"':
            value, at = value + '"', end + 2
            continue
        if line[end + 1 : end + 2] not in ("", ","):
            raise ValueError("text after a quoted field")
        return value, end + 1
