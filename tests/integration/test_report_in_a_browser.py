"""The page in a real browser: it reads, it asks nothing of the network, and a hostile trace runs nothing."""

import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from butfor import report
from tests.unit.report.stories import data_of

pytestmark = pytest.mark.skipif(
    shutil.which("chromium") is None, reason="no `chromium` on PATH: apt-get install chromium to run this"
)

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """A server on loopback and the paths that it was asked for: an attacker's host."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>asked</title>")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", paths
    server.shutdown()
    server.server_close()


def dom_of(tmp_path: Path, target: str) -> str:
    """What the browser holds after loading, scripts included."""
    command = [
        "chromium",
        *FLAGS,
        f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=3000",
        "--dump-dom",
    ]
    return subprocess.run([*command, target], capture_output=True, text=True, check=True, timeout=120).stdout


def attack(host: str) -> str:
    """Everything that a trace could try in one string."""
    script = f"document.title='owned';fetch('{host}/fetched')"
    return (
        f'</pre></text></svg></style><script>{script}</script><img src={host}/image onerror="{script}">'
        f'<style>@import "{host}/style";body{{background:url({host}/background)}}</style>'
        f'<link rel=stylesheet href={host}/link><iframe src={host}/frame></iframe><svg onload="{script}">'
        f'<meta http-equiv=refresh content="0;url={host}/moved"><base href={host}/>'
    )


def test_a_hostile_trace_is_read_and_nothing_of_it_runs(tmp_path, asked):
    host, paths = asked
    file = tmp_path / "page.html"
    file.write_text(report.render_html(data_of(4, hostile=attack(host))), encoding="utf-8")
    dom = dom_of(tmp_path, file.as_uri())
    assert "decided this outcome (95% confidence)" in dom
    assert "&lt;script&gt;document.title=" in dom
    assert "<title>butfor report: run run-1" in dom
    assert "owned</title>" not in dom
    assert paths == []


def test_the_attack_works_where_nothing_is_escaped(tmp_path, asked):
    """The check above can fail: the same text on a page without our care runs its script and asks the host."""
    host, paths = asked
    file = tmp_path / "page.html"
    body = attack(host).partition("<meta")[0]
    file.write_text(f"<!doctype html><title>x</title><pre>{body}</pre>", encoding="utf-8")
    assert "<title>owned</title>" in dom_of(tmp_path, file.as_uri())
    assert "/image" in paths


def test_rows_and_labels_do_not_overlap(tmp_path):
    """Lay the page out for real: a probe script outside the report measures the texts of the picture."""
    page = report.render_html(data_of(12, decisive=4))
    probe = (
        "<script>onload=()=>{const b=[...document.querySelectorAll('.picture text')].map(t=>t.getBoundingClientRect())"
        ".filter(r=>r.width);let n=0;for(let i=0;i<b.length;i++)for(let j=i+1;j<b.length;j++){const p=b[i],q=b[j];"
        "if(p.left<q.right-1&&q.left<p.right-1&&p.top<q.bottom-3&&q.top<p.bottom-3)n++}"
        "const s=document.querySelector('.picture').getBoundingClientRect();"
        "const out=b.filter(r=>r.right>s.right+1||r.left<s.left-1).length;"
        "document.title=`texts ${b.length>50} overlaps ${n} outside ${out}`}</script>"
    )
    policy = page.index("<meta http-equiv")
    bare = page[:policy] + page[page.index(">", policy) + 1 :]  # the page's own policy would forbid the probe
    file = tmp_path / "page.html"
    file.write_text(bare.replace("</body>", probe + "</body>"), encoding="utf-8")
    assert "<title>texts true overlaps 0 outside 0</title>" in dom_of(tmp_path, file.as_uri())
