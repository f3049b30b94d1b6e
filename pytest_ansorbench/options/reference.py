"""The table of all options in Markdown, for docs/options.md.

    python -m pytest_ansorbench.options.reference

prints it.
"""

from __future__ import annotations

from typing import Final

from pytest_ansorbench.options.declarations import OPTIONS, Option

_HEADINGS: Final = ("option", "marker", "default", "what it does")


def reference_table() -> str:
    """All options in order of declaration; lines without a newline at the end."""
    rows = [_HEADINGS, ("---", ":-:", "---", "---"), *map(_row, OPTIONS)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(option: Option) -> tuple[str, ...]:
    return (
        f"`{_escaped(_usage(option))}`",
        "•" if option.per_test else "",
        _escaped(option.default) or ("off" if option.metavar is None else "none"),
        _escaped(option.help),
    )


def _usage(option: Option) -> str:
    if option.bare is not None:
        return f"{option.flag}[={option.metavar}]"
    return f"--ansor-{option.usage}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(reference_table())
