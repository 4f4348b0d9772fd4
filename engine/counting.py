"""Numbers of things in words, the same wherever they are told."""


def counted(number: int, what: str, many: str = "") -> str:
    """A number of things: "1 node", "20,000 nodes", "2 branches" where the plural is said."""
    return f"{number:,} {what if number == 1 else many or f'{what}s'}"
