"""A drawing of the rooms of the package and of the imports between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise

from docs.extensions.rooms import imports_between_rooms

BOX_HEIGHT, LAYER_HEIGHT, GAP = 30, 78, 14
LETTER, PADDING = 7.4, 22  # widths of text of 13 pixels


@cache
def depth(room: str) -> int:
    """The longest chain of imports below a room."""
    return 1 + max((depth(other) for other in imports_between_rooms()[room]), default=-1)


@cache
def below(room: str) -> frozenset[str]:
    """All that a room imports, itself or through others."""
    direct = imports_between_rooms()[room]
    return frozenset(direct).union(*(below(other) for other in direct))


def arrows() -> Iterator[tuple[str, str]]:
    """The imports that no chain of others implies, as (imported, importing)."""
    for room, imported in imports_between_rooms().items():
        through = frozenset[str]().union(*(below(other) for other in imported))
        yield from ((other, room) for other in imported - through)


@dataclass
class Place:
    """A room in its layer, or the point where an arrow passes a layer."""

    name: str
    layer: int
    x: float = 0.0

    @property
    def width(self) -> float:
        return LETTER * len(self.name) + PADDING if self.name else 4.0

    @property
    def y(self) -> float:
        return self.layer * LAYER_HEIGHT


@dataclass
class Drawing:
    layers: list[list[Place]]
    chains: list[list[Place]]  # the places that each arrow goes through
    width: float


def neighbours(chains: list[list[Place]], step: int) -> dict[int, list[Place]]:
    """For each place, those that arrows join it with in the layer above (-1) or below (1)."""
    found: dict[int, list[Place]] = {}
    for chain in chains:
        for first, second in pairwise(chain):
            here, other = (second, first) if step < 0 else (first, second)
            found.setdefault(id(here), []).append(other)
    return found


def spread(layer: list[Place], wanted: dict[int, float], width: float) -> None:
    """Put the places of a layer side by side, near where each is wanted, in that order."""
    layer.sort(key=lambda place: wanted[id(place)])
    edge = 0.0
    for place in layer:
        place.x = max(wanted[id(place)], edge + place.width / 2)
        edge = place.x + place.width / 2 + GAP
    edge = width
    for place in reversed(layer):
        place.x = min(place.x, edge - place.width / 2)
        edge = place.x - place.width / 2 - GAP


def layout() -> Drawing:
    rooms = {name: Place(name, depth(name)) for name in sorted(imports_between_rooms())}
    layers: list[list[Place]] = [[] for _ in range(1 + max(p.layer for p in rooms.values()))]
    for place in rooms.values():
        layers[place.layer].append(place)
    chains = []
    for imported, importing in sorted(arrows()):
        first, last = rooms[imported], rooms[importing]
        passing = [Place("", layer) for layer in range(first.layer + 1, last.layer)]
        for place in passing:
            layers[place.layer].append(place)
        chains.append([first, *passing, last])
    width = max(sum(p.width + GAP for p in layer) for layer in layers)
    for layer in layers:
        spread(layer, {id(p): at * width / len(layer) for at, p in enumerate(layer)}, width)
    # Sweeps down and up pull every place to the middle of those that it is joined with.
    for step in (-1, 1) * 12:
        joined = neighbours(chains, step)
        for layer in layers[::-step]:
            wanted = {}
            for place in layer:
                others = [other.x for other in joined.get(id(place), [])] or [place.x]
                wanted[id(place)] = sum(others) / len(others)
            spread(layer, wanted, width)
    return Drawing(layers, chains, width)


def curve(chain: list[Place]) -> str:
    path = f"M{chain[0].x:.0f}"
    for first, second in pairwise(chain):
        top = first.y + BOX_HEIGHT
        middle = (top + second.y) / 2
        path += f" {top:.0f} C{first.x:.0f} {middle:.0f} {second.x:.0f} {middle:.0f}"
        path += f" {second.x:.0f} {second.y:.0f} L{second.x:.0f}"
    path = path.rpartition(" L")[0]
    return f'<path d="{path}"/>'


def box(place: Place) -> str:
    floor = place.name.partition(".")[0]
    imported = ", ".join(sorted(imports_between_rooms()[place.name])) or "no other room"
    return (
        f'<g class="room {floor}"><title>{escape(place.name)} imports {escape(imported)}</title>'
        f'<rect x="{place.x - place.width / 2:.0f}" y="{place.y:.0f}" rx="5"'
        f' width="{place.width:.0f}" height="{BOX_HEIGHT}"/>'
        f'<text x="{place.x:.0f}" y="{place.y + 20:.0f}">{escape(place.name)}</text></g>'
    )


def svg() -> str:
    drawing = layout()
    height = len(drawing.layers) * LAYER_HEIGHT - LAYER_HEIGHT + BOX_HEIGHT
    inside = [curve(chain) for chain in drawing.chains]
    inside += [box(place) for layer in drawing.layers for place in layer if place.name]
    return (
        f'<div class="architecture"><svg viewBox="-2 -2 {drawing.width + 4:.0f} {height + 4}"'
        f' role="img" aria-label="the rooms of the package and their imports">'
        f"{''.join(inside)}</svg></div>"
    )
