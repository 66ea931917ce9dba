"""Hooks of MkDocs (mkdocs.yml): add the files outside of docs that pages link to and the gallery, and check the result.

The site has the file PATH of the repository as repository/PATH.md, a folder as repository/PATH/index.md. The gallery
has what the recipes of docs/cookbook write: NAME.md writes the page NAME.html, or one of several files into the folder
NAME.
"""

import logging
import os
import posixpath
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
# Where `make site` ran the recipes and drew the picture of the first page.
RECIPES = Path(os.environ.get("RECIPES", "build/nothing"))
OUTSIDE = "repository/"
FENCE = re.compile(r"^( *)(```|~~~~)([^\n`]*)\n(.*?^\1\2$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r'(\]\(|(?:src|href)=")(?![a-z]+:|#)([^)\s"#]+)')
log = logging.getLogger("mkdocs.hooks")


def path_of(src: str) -> str:
    """Return the path in the repository of a page of the site."""
    return src.removeprefix(OUTSIDE) if src.startswith(OUTSIDE) else f"docs/{src}"


def page_of(path: str) -> str:
    """Return the page or file of the site that shows this path of the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if (ROOT / path).is_dir():
        return f"{OUTSIDE}{path}/index.md"
    return f"{OUTSIDE}{path}" if path.endswith(".md") else f"{OUTSIDE}{path}.md"


def targets(src: str, markdown: str) -> list[str]:
    """Return the paths in the repository that a page links to."""
    folder = posixpath.dirname(path_of(src))
    found = (unquote(link[2]) for link in LINK.finditer(FENCE.sub("", markdown)))
    return [posixpath.normpath(posixpath.join(folder, target)) for target in found]


def shown(path: str) -> str:
    """Return the Markdown that shows a file or folder of the repository."""
    here = ROOT / path
    if path.endswith(".md"):
        return here.read_text(encoding="utf-8")
    below = here.iterdir() if here.is_dir() else [here]
    files = sorted(one for one in below if one.is_file() and one.name != "README.md")
    about = here / "README.md"
    parts = [about.read_text(encoding="utf-8") if about.exists() else f"# {path}\n"]
    for file in files:
        text = file.read_text(encoding="utf-8")
        parts.append(f"## {file.name}\n\n~~~~{file.suffix[1:]}\n{text}~~~~\n")
    return "\n".join(parts)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of files outside of docs, as far as links lead, and the gallery with what the recipes wrote."""
    waiting = [(file.src_uri, file.content_string) for file in files.documentation_pages()]
    gallery = ["# Gallery\n\nThe [recipes](../cookbook/index.md) wrote these pages when this site was built.\n"]
    for src, markdown in sorted(waiting):
        name = posixpath.basename(src).removesuffix(".md")
        wrote = sorted(RECIPES.rglob(f"{name}.html")) + sorted(RECIPES.rglob(f"{name}/index.html"))
        if not src.startswith("cookbook/") or name == "index" or not wrote:
            continue
        start = f"{name}.html" if wrote[0].stem == name else f"{name}/index.html"
        for one in wrote[:1] if start == f"{name}.html" else wrote[0].parent.iterdir():
            to = start if one == wrote[0] else f"{name}/{one.name}"
            files.append(File.generated(config, f"gallery/{to}", content=one.read_bytes()))
        title = re.search("^# (.*)", markdown)
        gallery.append(
            f"## {title[1] if title else name}\n\n[Recipe](../{src}), [the page alone]({start})\n\n"
            f'<iframe src="{start}" title="{name}" loading="lazy" width="100%" height="560" '
            'style="border: 1px solid #8884"></iframe>\n'
        )
    if len(gallery) == 1:
        log.warning("no recipe wrote a page into %s: `make site` runs them first", RECIPES)
    files.append(File.generated(config, "gallery/index.md", content="\n".join(gallery)))
    if (picture := RECIPES / "report.svg").exists():
        if drawn := files.get_file_from_path("images/report.svg"):
            files.remove(drawn)
        files.append(File.generated(config, "images/report.svg", content=picture.read_bytes()))
    while waiting:
        for path in targets(*waiting.pop()):
            src = page_of(path)
            if src.startswith(OUTSIDE) and (ROOT / path).exists() and not files.get_file_from_path(src):
                files.append(File.generated(config, src, content=shown(path)))
                waiting.append((src, shown(path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Lead links to the pages of this site, and write what only the tests read in fences as titles."""
    src = page.file.src_uri
    folder = posixpath.dirname(src)

    def link(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(path_of(src)), found[2]))
        return found[1] + posixpath.relpath(page_of(path), folder or ".")

    def fence(found: re.Match[str]) -> str:
        language, *options = found[3].split() or [""]
        names = [option.removeprefix("file=") for option in options if option.startswith("file=")]
        title = f' title="{names[0]}"' if names else ""
        return f"{found[1]}{found[2]}{'text' if language == 'output' else language}{title}\n{found[4]}"

    if src.startswith("gallery/"):
        return markdown
    parts, end = [], 0
    for found in FENCE.finditer(markdown):
        parts += [LINK.sub(link, markdown[end : found.start()]), fence(found)]
        end = found.end()
    return "".join([*parts, LINK.sub(link, markdown[end:])])


class Links(HTMLParser):
    """Collects what a page links to (`href` of a) and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect one element's."""
        for name, value in attrs:
            if value and name in {"href", "src"}:
                (self.links if tag == "a" else self.loaded).append(value)


def on_post_build(config: MkDocsConfig) -> None:
    """Warn of what a page loads from elsewhere, and of missing files; MkDocs checks links in Markdown only."""
    site = Path(config.site_dir)
    for page in site.rglob("*.html"):
        if page.name == "404.html" or (page.relative_to(site).parts[0] == "gallery" and page.name != "index.html"):
            continue
        parser = Links()
        parser.feed(page.read_text(encoding="utf-8"))
        for url in parser.links + parser.loaded:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                if url in parser.loaded and parts.scheme != "data":
                    log.warning("%s loads %s", page.relative_to(site), url)
            elif parts.path and not (page.parent / unquote(parts.path)).exists():
                log.warning("%s links to %s, which is not there", page.relative_to(site), url)
