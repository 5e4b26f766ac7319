"""To look into markup that was made."""

from __future__ import annotations

from html.parser import HTMLParser


def plain(text: str) -> str:
    """The text without the characters that only keep it together or apart."""
    return text.replace("\u00a0", " ").replace("\u2068", "").replace("\u2069", "")


class Page(HTMLParser):
    """What a browser would find in a page."""

    void = frozenset({"meta", "link", "input", "br", "img", "wbr"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.drawings: list[dict[str, str]] = []
        self.open: list[str] = []
        self.text: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag == "svg" and "svg" not in self.open:
            self.drawings.append(self.elements[-1][1])
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in {*self.open}:
            self.text[tag] = self.text.get(tag, "") + data

    def every(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]
