"""Makes the documents of the sample, and those of tests: folders in which few statements decide a price.

Run as a script it writes both corpora anew, each with a manifest beside it::

    python samples/price-changes/make_corpus.py [--seed NUMBER]

All names, places and prices are invented. Another seed gives other numbers, names and fillers; what decides
stays what decides. Nothing is compressed, so the same seed gives the same bytes everywhere.
"""

import argparse
import hashlib
import io
import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Final
from zipfile import ZIP_STORED, ZipFile, ZipInfo

SEED: Final = 2026
HERE: Final = Path(__file__).resolve().parent
SAMPLE: Final = HERE
TESTS: Final = HERE.parents[1] / "tests" / "data" / "price-changes"


@dataclass(frozen=True)
class Fact:
    """A statement that decides a price, or one that only looks like it, and why it does not count."""

    file: str
    statement: str
    why: str = ""


@dataclass(frozen=True)
class Corpus:
    """Files by name, each with its kind and its bytes, and what is to be found in them."""

    files: Mapping[str, tuple[str, bytes]]
    deciding: Sequence[Fact]
    decoys: Sequence[Fact]

    def manifest(self, seed: int) -> dict[str, object]:
        """What is in the folder, for whoever checks it."""
        files = [
            {"name": name, "kind": kind, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, (kind, data) in sorted(self.files.items())
        ]
        return {
            "seed": seed,
            "files": files,
            "deciding": [{"file": fact.file, "statement": fact.statement} for fact in self.deciding],
            "decoys": [asdict(fact) for fact in self.decoys],
        }

    def write(self, folder: Path, seed: int) -> None:
        """Write the files into ``corpus`` in this folder, in place of what is there, and the manifest."""
        corpus = folder / "corpus"
        corpus.mkdir(parents=True, exist_ok=True)
        for old in corpus.iterdir():
            old.unlink()
        for name, (_, data) in self.files.items():
            (corpus / name).write_bytes(data)
        text = json.dumps(self.manifest(seed), ensure_ascii=False, indent=2)
        (folder / "manifest.json").write_text(f"{text}\n", encoding="utf-8", newline="\n")


# -- kinds of files ------------------------------------------------------------------------------------


def text(*lines: str) -> tuple[str, bytes]:
    """A text file."""
    return "text", ("\n".join(lines) + "\n").encode()


def png(random: Random) -> tuple[str, bytes]:
    """A picture of 8 by 8 grey points."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + random.randbytes(8) for _ in range(8))
    head = struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)
    # As it stands, in one block: packers differ from version to version.
    block = b"\x01" + struct.pack("<HH", len(rows), len(rows) ^ 0xFFFF) + rows
    packed = b"\x78\x01" + block + struct.pack(">I", zlib.adler32(rows))
    return "image", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def jpeg(random: Random) -> tuple[str, bytes]:
    """The first and the last bytes of a photograph, with noise between them."""
    return "image", b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + random.randbytes(600) + b"\xff\xd9"


def pdf(random: Random, words: str) -> tuple[str, bytes]:
    """The shape of a PDF."""
    body = f"%PDF-1.4\n1 0 obj\n<< /Title ({words}) >>\nendobj\n".encode()
    return "pdf", body + b"stream\n" + random.randbytes(300) + b"\nendstream\n%%EOF\n"


def noise(random: Random, count: int) -> tuple[str, bytes]:
    """Bytes that mean nothing."""
    return "binary", random.randbytes(count)


def ole(random: Random) -> tuple[str, bytes]:
    """A document of an Office of the last century, whose form nobody reads here."""
    return "office", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + random.randbytes(1528)


def office(parts: Mapping[str, Iterable[str]]) -> tuple[str, bytes]:
    """An Office document with these paragraphs in each of its parts, and styles that are no text."""
    written = {
        "[Content_Types].xml": "<Types/>",
        **{name: _part(paragraphs) for name, paragraphs in parts.items()},
        f"{next(iter(parts)).partition('/')[0]}/styles.xml": "<styles><name>Heading</name></styles>",
    }
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_STORED) as archive:
        for name, content in written.items():
            archive.writestr(ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content)
    return "office", buffer.getvalue()


def _part(paragraphs: Iterable[str]) -> str:
    escaped = (p.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for p in paragraphs)
    return f"<document>{''.join(f'<p><t>{paragraph}</t></p>' for paragraph in escaped)}</document>"


# -- what documents are made of ------------------------------------------------------------------------

NAMES: Final = (
    *("Aled Morcant", "Bente Solvik", "Carys Undle", "Dov Harrant", "Elin Stroud", "Femi Aldane"),
    *("Greta Lorne", "Hamid Osei", "Ines Falk", "Joris Wend", "Kaya Thorpe", "Leif Marrow"),
)
CHORES: Final = (
    "The minutes of the last meeting were accepted as they are.",
    "The heating of the hall will be looked at before the winter.",
    "A volunteer is sought for the stall at the summer fair.",
    "The insurer has asked for a new plan of the building.",
    "The new kettle was welcomed by everybody.",
    "Two windows on the north side still do not close.",
    "The bicycle stand will be moved nearer to the door.",
    "A list of keys and who holds them will be kept.",
    "The chair thanked those who had cleared the snow.",
    "The report on noise was taken note of without a vote.",
    "The lamp above the side door is to be replaced this week.",
    "Whoever finds the blue folder is asked to bring it back.",
    "The cupboard in the corridor is to be cleared before May.",
    "A letter from the neighbours was read out and answered.",
    "The first aid box has been filled again.",
    "The next meeting begins a quarter of an hour later.",
)


def money(random: Random, low: int, high: int) -> str:
    """A price in steps of ten."""
    return f"{random.randrange(low, high, 10) / 100:.2f}"


def chores(random: Random, count: int) -> str:
    """Sentences in which nothing is decided."""
    return " ".join(random.sample(CHORES, count))


# -- the sample ----------------------------------------------------------------------------------------


def brackwater(random: Random) -> Corpus:
    """The shared folder of the Brackwater Leisure Trust, which has a pool, an ice rink and boats for hire.

    Three statements decide a price. One of their documents begins with words that say nothing of prices; a
    newsletter, which decides nothing, begins with one.
    """
    chair, clerk, *present = random.sample(NAMES, 5)
    swim_old, family_old, boat, locker = (
        money(random, *span) for span in ((480, 560), (1900, 2300), (900, 1300), (50, 150))
    )
    swim, family = money(random, 600, 700), money(random, 1400, 1800)
    percent = random.choice((8, 10, 12, 15))
    swim_day, rink_day, family_day = random.sample(
        ("1 January 2027", "1 February 2027", "1 March 2027", "1 April 2027"), 3
    )
    swimming = f"The board decided that an adult swim costs {swim} from {swim_day}, up from {swim_old}."
    rink = f"The committee resolved that rink hire rises by {percent} percent from {rink_day}."
    families = f"The trustees agreed that a family ticket is cut to {family} from {family_day}."
    unchanged = f"The price of a boat for an hour stays at {boat} for the whole of 2027."
    deferred = "A proposal to raise the price of skate hire was deferred to the next meeting."
    withdrawn = "The proposal of a new price for the sauna was withdrawn by those who had made it."
    supplier = f"Our supplier of chlorine raises its prices by {random.choice((4, 6, 9))} percent from May."
    scheme = "The board decided that there will be a discount scheme for schools."
    last_year = f"Adult swim {swim_old}, as listed for the year 2025."
    release = f"The ticket machine now shows an adult swim at {swim}."
    sign = f"The old sign at the door still says {swim_old} for an adult swim."
    hours = f"The committee decided that the pool opens at {random.choice((6, 7))} from {swim_day}."
    listed = f"The list in force has a locker at {locker} and a boat at {boat}."
    files = {
        "board-minutes-2026-09-14.md": text(
            "# Minutes, 14 September",
            "",
            f"Present were {', '.join(present)}. {chair} was in the chair, and {clerk} wrote.",
            f"{chores(random, 3)}",
            "",
            "## Item 4",
            "",
            f"{swimming} {unchanged}",
            "",
            "## Item 5",
            "",
            f"- {scheme}",
            f"- {clerk} tells the staff before the end of the month.",
        ),
        "leisure-committee-2026-10.md": text(
            "# Leisure committee, October",
            "",
            chores(random, 4),
            "",
            f"1. {deferred}",
            f"2. {rink}",
            f"3. {withdrawn}",
            "",
            f"{random.choice(present)} keeps the list of what is still to be done.",
        ),
        "changelog.txt": text(
            "Release notes of the ticket machine",
            "",
            f"- {release}",
            "- The printer no longer stops when the paper is folded.",
            "- Two languages more can be chosen at the start.",
        ),
        "autumn-newsletter.txt": text(
            f"A swim for {swim_old} and a coffee with it: come before the leaves fall.",
            "",
            f"{sign} Somebody will paint it over when the weather allows.",
            chores(random, 3),
        ),
        "old-prices.bak": text(
            "Prices of last year", "", last_year, f"Family ticket {family_old}, likewise."
        ),
        "boat-hire.notes": text(
            "Boats and those who hire them", "", f"{chores(random, 2)} {unchanged.replace('whole', 'rest')}"
        ),
        "supplier-letters.txt": text(
            "Letters that came in", "", f"{supplier} {random.choice(present)} has answered the letter."
        ),
        "opening-hours.md": text("# Opening hours", "", f"{hours} {chores(random, 2)}"),
        "school-visits.md": text(
            "# Visits of schools", "", f"{chores(random, 3)} A class brings two adults at least."
        ),
        "staff-rota.csv": text(
            "day,early,late", *(f"{day},{','.join(random.sample(NAMES, 2))}" for day in ("Mon", "Tue", "Wed"))
        ),
        "lockers.json": text(json.dumps({"lockers": random.randrange(80, 160), "broken": [3, 17]})),
        "pump.log": text(
            *(f"2026-10-0{day} 06:00 pump {random.randrange(40, 60)} Hz ok" for day in range(1, 8))
        ),
        "trustees-paper.docx": office(
            {"word/document.xml": ["Paper for the trustees.", chores(random, 2), families, "Nothing else."]}
        ),
        "price-list.xlsx": office(
            {
                "xl/sharedStrings.xml": [listed, "Skate hire is as it was."],
                "xl/worksheets/sheet1.xml": ["1", "2", "3"],
            }
        ),
        "pitch.pptx": office({"ppt/slides/slide1.xml": ["Brackwater on the water.", chores(random, 2)]}),
        "lease.pdf": pdf(random, "Lease of the boat house"),
        "receipt-0093.pdf": pdf(random, "Receipt"),
        "pool-sign.png": png(random),
        "rink.jpg": jpeg(random),
        "flyer.txt": jpeg(random),
        "door-codes.enc": noise(random, 1030),
        "sensors.dat": noise(random, 2048),
        "letter-1998.doc": ole(random),
        "todo.txt": ("empty", b""),
    }
    board, committee = "board-minutes-2026-09-14.md", "leisure-committee-2026-10.md"
    return Corpus(
        files,
        (Fact(board, swimming), Fact(committee, rink), Fact("trustees-paper.docx", families)),
        (
            Fact(board, unchanged, "the price stays"),
            Fact(board, scheme, "a decision without a price"),
            Fact(committee, deferred, "deferred"),
            Fact(committee, withdrawn, "withdrawn"),
            Fact("supplier-letters.txt", supplier, "a supplier's prices"),
            Fact("old-prices.bak", last_year, "last year's list"),
            Fact("changelog.txt", release, "repeats what was decided"),
            Fact("autumn-newsletter.txt", sign, "a former price"),
            Fact("opening-hours.md", hours, "a decision on opening hours"),
            Fact("price-list.xlsx", listed, "the list in force"),
        ),
    )


# -- what the tests read -------------------------------------------------------------------------------


def bicycles(random: Random) -> Corpus:
    """The shared drive of a maker of bicycles. Two statements decide a price; their numbers are fixed."""
    chair, clerk, *present = random.sample(NAMES, 5)
    kestrel, dealer = money(random, 89000, 99000), money(random, 60000, 70000)
    heron = money(random, 129000, 149000)
    june = "It was decided that Heron 2 and Heron 3 cost 20 percent more from 1 June 2026."
    april = f"Decision: the Kestrel 1 costs {kestrel} retail and {dealer} for dealers from 1 April 2026."
    spared = "The Kestrel 1 is not affected by this."
    bullet = f"{clerk} sends the new price list to all dealers."
    stays = f"The Heron 2 stays at {heron} until there is more to say."
    floated = "A price of 1990.00 for the Osprey in 2027 was talked about, and nothing was decided."
    withdrawn = "The price of the Osprey that was talked about in February is withdrawn."
    supplier = f"Rims cost {random.choice((3, 5, 7))} percent more from our supplier since March."
    margin = "The margin for dealers changes in 2027, by how much is open."
    workshop = "The prices of the workshop stay as they are."
    release = f"The portal shows the Kestrel 1 at {kestrel} retail."
    superseded = "Kestrel 1 at 849.00, list of 2025, no longer in force."
    files = {
        "meeting-notes-2026-02.md": text(
            "# Notes of the meeting in February",
            "",
            f"Present: {', '.join((chair, *present))}. {clerk} took the notes.",
            chores(random, 10),
            "",
            "## Models",
            "",
            f"- {april}",
            f"- {stays}",
            f"- {floated}",
            "",
            "## Costs",
            "",
            f"{supplier} {margin} Paint is bought from two makers now.",
            "",
            "## Also decided",
            "",
            "* The stand at the fair is shared with a maker of bells.",
            "* Frames are numbered anew, see the note on numbers.",
            "* The test ride track is open on Saturdays as well.",
        ),
        "minutes-2026-05-06.md": text(
            "# Minutes of the price round",
            "",
            f"{chair} opened the meeting. {present[0]} could not come.",
            chores(random, 12),
            "",
            f"{june} {spared} {workshop}",
            withdrawn,
            "",
            "## Who does what",
            "",
            f"- {bullet}",
            f"- {present[1]} changes the labels in the shop by the end of May.",
        ),
        "changelog.txt": text(
            "Changes of the dealer portal",
            "",
            f"- {release}",
            "- Orders of more than one frame can be split.",
        ),
        "pricing.sql": text(
            "CREATE TABLE prices (model TEXT, retail NUMERIC, since DATE);",
            f"-- Kestrel 1: {kestrel} retail, since 2026-04-01",
            f"-- Heron 2: {heron} retail, since 2025-01-01",
            "SELECT model, retail FROM prices ORDER BY since;",
        ),
        "old-prices.bak": text("List of 2025", "", superseded, "Heron 2 at 1190.00, likewise."),
        "supplier-terms.notes": text("What suppliers ask", "", f"{supplier} Spokes are as they were."),
        "warranty-policy.txt": text(
            "Warranty", "", "A frame is mended free of charge for five years. A service costs 45.00 in 2026."
        ),
        "README.md": text(
            "# Shared drive", "", chores(random, 4), "", "Whoever takes a file away puts it back."
        ),
        "dealers.csv": text(
            "dealer,city", *(f"{name},Town {number}" for number, name in enumerate(random.sample(NAMES, 6)))
        ),
        "inventory.json": text(
            json.dumps({"Kestrel 1": random.randrange(20, 60), "Heron 2": random.randrange(20, 60)})
        ),
        "application.yaml": text("# the portal", "portal:", "  pages: 12", "  language: en"),
        "build.properties": text("name=portal", f"build={random.randrange(100, 999)}"),
        "deploy.sh": text("#!/bin/sh", "# puts the portal on the server", "set -e", "echo done"),
        "FrameSerial.java": text(
            "/** The number of a frame: the year, the model, and how many were made before it. */",
            "final class FrameSerial {",
            "    private final String number;",
            "",
            "    FrameSerial(String number) {",
            "        this.number = number;",
            "    }",
            "}",
        ),
        "workshop.log": text(
            *(f"2026-04-{day:02} stand {random.randrange(1, 5)} brake checked" for day in range(1, 12))
        ),
        "price-list.xlsx": office(
            {
                "xl/sharedStrings.xml": ["Kestrel 1", "Heron 2", "In force from 1 January 2026"],
                "xl/worksheets/sheet1.xml": ["849", "1190"],
            }
        ),
        "product-spec.docx": office(
            {"word/document.xml": ["The Osprey.", "A planning price of 1890.00 was noted in November 2025."]}
        ),
        "dealer-pitch.pptx": office(
            {"ppt/slides/slide1.xml": ["Ride with us.", "Bicycles from 849.00, as of January."]}
        ),
        "invoice-0417.pdf": pdf(random, "Invoice 0417"),
        "mixed-report.pdf": pdf(random, "Report"),
        "scanned-letter.pdf": pdf(random, "Letter"),
        "screenshot-prices.png": png(random),
        "shop-sign.png": png(random),
        "sky.png": png(random),
        "warranty-card.jpg": jpeg(random),
        "whiteboard.jpg": jpeg(random),
        "notes.txt": jpeg(random),
        "keys.enc": noise(random, 2054),
        "telemetry.dat": noise(random, 4096),
        "empty.txt": ("empty", b""),
    }
    february, may = "meeting-notes-2026-02.md", "minutes-2026-05-06.md"
    return Corpus(
        files,
        (Fact(february, april), Fact(may, june)),
        (
            Fact(february, stays, "the price stays"),
            Fact(february, floated, "nothing was decided"),
            Fact(february, supplier, "a supplier's prices"),
            Fact(february, margin, "no price, and open"),
            Fact(may, spared, "a model that is not affected"),
            Fact(may, workshop, "the prices stay"),
            Fact(may, withdrawn, "withdrawn"),
            Fact(may, bullet, "something to be done"),
            Fact("changelog.txt", release, "repeats what was decided"),
            Fact("old-prices.bak", superseded, "superseded"),
        ),
    )


def corpora(seed: int) -> dict[Path, Corpus]:
    """Both corpora of a seed, by the folder each belongs in."""
    return {SAMPLE: brackwater(Random(seed)), TESTS: bicycles(Random(seed))}  # noqa: S311 - no secret


def main() -> None:
    """Write both corpora."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--seed", type=int, default=SEED)
    seed = options.parse_args().seed
    for folder, corpus in corpora(seed).items():
        corpus.write(folder, seed)
        print(f"{folder}: {len(corpus.files)} files")


if __name__ == "__main__":
    main()
