"""Amounts as whole numbers of hundredths."""


def parse_amount(text):
    """Return the amount that text spells, in hundredths; ValueError if it is none."""
    raise NotImplementedError


def format_amount(minor):
    """Return the text of an amount given in hundredths."""
    raise NotImplementedError


def scale(minor, rate):
    """Return minor times rate (a text), rounded to a whole number of hundredths."""
    raise NotImplementedError
