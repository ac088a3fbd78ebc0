"""Amounts as whole numbers of hundredths."""

import re

_AMOUNT = re.compile(r"([+-]?)([0-9]+)(?:\.([0-9]{1,2}))?")
_RATE = re.compile(r"([0-9]+)(?:\.([0-9]+))?")


def parse_amount(text):
    """Return the amount that text spells, in hundredths; ValueError if it is none."""
    inner, negative = text, False
    if text.startswith("(") and text.endswith(")") and text[1:2].isdigit():
        inner, negative = text[1:-1], True
    match = _AMOUNT.fullmatch(inner)
    if match is None:
        raise ValueError(f"not an amount: {text!r}")
    sign, whole, fraction = match.groups()
    minor = int(whole) * 100 + int((fraction or "").ljust(2, "0"))
    return -minor if negative or sign == "-" else minor


def format_amount(minor):
    """Return the text of an amount given in hundredths."""
    whole, fraction = divmod(abs(minor), 100)
    return f"{'-' if minor < 0 else ''}{whole}.{fraction:02d}"


def scale(minor, rate):
    """Return minor times rate (a text), rounded to the nearest whole number, halves away from zero."""
    match = _RATE.fullmatch(rate)
    if match is None:
        raise ValueError(f"not a rate: {rate!r}")
    whole, fraction = match.group(1), match.group(2) or ""
    unit = 10 ** len(fraction)
    rounded = (abs(minor) * int(whole + fraction) * 2 + unit) // (2 * unit)
    return -rounded if minor < 0 else rounded
