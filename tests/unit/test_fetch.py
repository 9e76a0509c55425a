"""Downloads from a local server that answers as servers do on bad days."""

import hashlib
import json
import re
import socket
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sampled_metrics._base.errors import InputError, UnreachableError
from sampled_metrics.datasets.catalogue import CATALOGUE, ML_1M, MovieLens
from sampled_metrics.datasets.fetch import fetch
from sampled_metrics.datasets.settings import DatasetSettings
from tests.conftest import write_archive

RATINGS = b"1::10::5::1\n1::20::3::2\n"


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, content: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = content
        self.answers: list[str] = []
        self.requests = 0
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/ml-1m.zip"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests += 1
        answer = self.server.answers.pop(0) if self.server.answers else "complete"
        if answer.isdigit():
            self.send_error(int(answer))
            return
        content = self.server.content
        self.send_response(200)
        if answer == "page":
            content = b"<html>Welcome to our hotel. Please log in.</html>"
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        sent = {"truncated": content[: len(content) // 2], "stalled": content[:10], "slow": b""}
        self.wfile.write(sent.get(answer, content))
        for byte in content if answer == "slow" else b"":
            if self.server.released.wait(0.02):
                return
            self.wfile.write(bytes([byte]))
        if answer == "stalled":
            self.wfile.flush()
            self.server.released.wait(10)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path):
    running = Server(write_archive(tmp_path / "published.zip", RATINGS).read_bytes())
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.released.set()
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture
def pauses(monkeypatch):
    """Seconds slept between attempts; none is really slept."""
    slept = []
    monkeypatch.setattr("sampled_metrics.datasets.download.time.sleep", slept.append)
    return slept


@pytest.fixture(autouse=True)
def _published(server, monkeypatch):
    """Take the server's archive for the published one of ml-1m."""
    publish(server, monkeypatch, ML_1M)


def publish(server, monkeypatch, dataset):
    checksum = f"sha256:{hashlib.sha256(server.content).hexdigest()}"
    monkeypatch.setitem(CATALOGUE, dataset.name, replace(dataset, checksum=checksum))


def files(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def attempt(tmp_path, url=None, name="ml-1m", **options):
    settings = {"cache": str(tmp_path / "cache"), "timeout": 5, **options}
    return fetch(tmp_path / "out" / f"{name}.zip", DatasetSettings(name=name, url=url, **settings))


def refused(tmp_path, url, error=InputError, name="ml-1m", **options):
    """Fetch in vain; return the problem, which names the address and a local archive as remedy."""
    with pytest.raises(InputError) as caught:
        attempt(tmp_path, url, name, **options)
    assert type(caught.value) is error
    assert not (tmp_path / "out").exists()
    assert not files(tmp_path / "cache")
    message = str(caught.value)
    assert "\n" not in message
    assert url in message
    assert "MOVIELENS_ARCHIVE" in message
    # the way on from the ranks of the reference run is only for an unreachable server
    assert ("ranks: reference" in message) == (error is UnreachableError and name == "ml-1m")
    return caught.value.problem


def test_complete(tmp_path, server):
    source = attempt(tmp_path, server.url)
    assert (tmp_path / "out" / "ml-1m.zip").read_bytes() == server.content
    assert (source.origin, source.archive) == ("download", "ml-1m.zip")
    assert source.archive_sha256 == hashlib.sha256(server.content).hexdigest()
    assert source.ratings_sha256 == hashlib.sha256(RATINGS).hexdigest()
    assert source.archive_is_official
    assert not source.ratings_is_official


def test_cache_comes_before_the_network(tmp_path, server):
    attempt(tmp_path, server.url)
    assert attempt(tmp_path, server.url).origin == "cache"
    assert server.requests == 1


def test_spoilt_cache_is_downloaded_anew(tmp_path, server):
    attempt(tmp_path, server.url)
    (tmp_path / "cache" / "ml-1m.zip").write_bytes(b"spoilt")
    assert attempt(tmp_path, server.url).origin == "download"
    assert server.requests == 2


def test_local_archive_comes_before_the_cache(tmp_path, server):
    attempt(tmp_path, server.url)
    mine = write_archive(tmp_path / "mine.zip", RATINGS * 2)
    source = attempt(tmp_path, server.url, archive=str(mine))
    assert (source.origin, source.archive) == ("local archive", "mine.zip")
    assert (tmp_path / "out" / "ml-1m.zip").read_bytes() == mine.read_bytes()
    assert server.requests == 1


def test_busy_twice_then_well(tmp_path, server, pauses):
    server.answers = ["503", "503"]
    assert attempt(tmp_path, server.url).origin == "download"
    assert server.requests == 3
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1]


def test_busy_for_good(tmp_path, server, pauses):
    server.answers = ["503"] * 9
    problem = refused(tmp_path, server.url, UnreachableError, retries=2)
    assert problem.startswith("GroupLens could not be reached")
    assert "answered 503" in problem
    assert (server.requests, len(pauses)) == (3, 2)


@pytest.mark.parametrize(
    ("answer", "requests", "problem"),
    [
        ("404", 1, "answered 404 Not Found; "),
        ("429", 2, "answered 429 Too Many Requests; "),
        ("truncated", 2, "fewer bytes than announced; "),
    ],
)
def test_server_that_sends_no_archive(tmp_path, server, pauses, answer, requests, problem):
    server.answers = [answer] * 2
    assert refused(tmp_path, server.url, retries=1).startswith(problem)
    assert (server.requests, len(pauses)) == (requests, requests - 1)


@pytest.mark.parametrize("name", ["ml-1m", "ml-latest-small"])
def test_page_of_a_network_that_asks_for_a_login(tmp_path, server, pauses, name):
    server.answers = ["page"]
    problem = refused(tmp_path, server.url, name=name)
    assert problem.startswith("sent a web page instead of an archive; a network may ask you to log")
    assert pauses == []


def test_page_in_the_cache_is_downloaded_anew(tmp_path, server):
    small = CATALOGUE["ml-latest-small"]
    server.content = write_archive(tmp_path / "small.zip", CSV, member=small.member).read_bytes()
    cached = tmp_path / "cache" / f"{small.name}.zip"
    cached.parent.mkdir()
    for spoilt in (b"<html>Please log in.</html>", server.content[:-30], b"PK"):
        cached.write_bytes(spoilt)
        assert attempt(tmp_path, server.url, small.name).origin == "download"
        assert cached.read_bytes() == server.content


def test_download_that_is_larger_than_any_published_one(tmp_path, server, pauses, monkeypatch):
    monkeypatch.setattr(MovieLens, "largest_archive", len(server.content) - 1)
    problem = refused(tmp_path, server.url)
    assert problem.startswith(f"more than {len(server.content) - 1} bytes; ")
    assert (server.requests, pauses) == (1, [])


def test_server_that_sends_byte_by_byte(tmp_path, server, pauses):
    server.answers = ["slow"] * 2
    problem = refused(tmp_path, server.url, time_limit=0.2)
    assert problem.startswith("not complete after 0.2 s (dataset.time_limit); ")
    assert (server.requests, pauses) == (1, [])


def test_full_disk(tmp_path, server, pauses):
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "ml-1m.zip").symlink_to("/dev/full")
    with pytest.raises(InputError, match=r"cache/ml-1m.zip: cannot be written .No space left"):
        attempt(tmp_path, server.url)
    assert pauses == []


def test_members_too_large_or_twice(tmp_path, monkeypatch):
    archive = write_archive(tmp_path / "bomb.zip", RATINGS)
    monkeypatch.setattr(MovieLens, "largest_member", len(RATINGS) - 1)
    with pytest.raises(InputError, match=r"bomb.zip: ml-1m/ratings.dat has 24 bytes; expected at"):
        attempt(tmp_path, archive=str(archive))
    monkeypatch.undo()
    with zipfile.ZipFile(archive, "a") as zipped, pytest.warns(UserWarning, match="Duplicate"):
        zipped.writestr(ML_1M.member, RATINGS)
    with pytest.raises(InputError, match=r"bomb.zip: holds ml-1m/ratings.dat more than once"):
        attempt(tmp_path, archive=str(archive))


def test_server_without_tls(tmp_path, server, pauses):
    secure = server.url.replace("http:", "https:")
    problem = refused(tmp_path, secure)
    assert problem.startswith("no secure connection; ")
    assert pauses == []


def test_truncated_then_well(tmp_path, server, pauses):
    server.answers = ["truncated"]
    assert attempt(tmp_path, server.url).origin == "download"
    assert len(pauses) == 1


def test_wrong_checksum(tmp_path, server, pauses, monkeypatch):
    monkeypatch.setitem(CATALOGUE, "ml-1m", ML_1M)
    problem = refused(tmp_path, server.url, retries=1)
    assert problem.startswith(f"wrong checksum, expected {ML_1M.checksum}; ")
    assert len(pauses) == 1


def test_stalled(tmp_path, server, pauses):
    server.answers = ["stalled"] * 2
    problem = refused(tmp_path, server.url, UnreachableError, timeout=0.2, retries=1)
    assert "timed out" in problem
    assert len(pauses) == 1


@pytest.fixture
def closed():
    """An address at which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/ml-1m.zip"


def test_connection_refused(tmp_path, pauses, closed):
    problem = refused(tmp_path, closed, UnreachableError, timeout=1, retries=1)
    assert problem.startswith(f"GroupLens could not be reached ({closed}: connection refused); ")
    assert len(pauses) == 1


def test_name_that_does_not_resolve(tmp_path, pauses):
    url = "http://no-such-host.invalid/ml-1m.zip"
    problem = refused(tmp_path, url, UnreachableError, timeout=1, retries=0)
    assert "its name cannot be resolved" in problem
    assert pauses == []


def test_exit_status_tells_an_unreachable_server_from_a_wrong_answer(
    run, tmp_path, server, closed, monkeypatch
):
    monkeypatch.delenv("MOVIELENS_ARCHIVE", raising=False)
    monkeypatch.setitem(CATALOGUE, "ml-1m", ML_1M)
    server.answers = wrong = ["404", "page", "truncated", "complete"]
    for url, status in [(closed, 69), *[(server.url, 2)] * len(wrong)]:
        dataset = json.dumps({"url": url, "cache": f"{tmp_path}/cache", "retries": 0})
        outputs = ("--output", tmp_path / "a.zip", "--source", tmp_path / "s.json")
        done = run("study", "fetch", "--dataset", dataset, *outputs)
        assert done.returncode == status
        assert url in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr
        assert files(tmp_path) == ["published.zip"]
    assert not wrong


def test_local_archive_must_exist_and_be_one(tmp_path):
    with pytest.raises(InputError, match=r"none\.zip: no such file; expected a MovieLens 1M"):
        attempt(tmp_path, archive=str(tmp_path / "none.zip"))
    text = tmp_path / "text.zip"
    text.write_text("no archive")
    with pytest.raises(InputError, match=r"text\.zip: not a readable zip archive"):
        attempt(tmp_path, archive=str(text))
    assert files(tmp_path) == ["published.zip", "text.zip"]


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_bar_on_a_terminal_only(tmp_path, server, monkeypatch, capsys, terminal):
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    attempt(tmp_path, server.url)
    assert ("100%" in capsys.readouterr().err) == terminal


ML_20M = CATALOGUE["ml-20m"]
CSV = b"userId,movieId,rating,timestamp\n1,10,5.0,1\n1,20,3.5,2\n"


@pytest.fixture
def other(server, tmp_path):
    """Path of an archive of ml-20m, which the server now holds."""
    path = write_archive(tmp_path / "other.zip", CSV, member=ML_20M.member)
    server.content = path.read_bytes()
    return path


@pytest.mark.usefixtures("other")
def test_checksum_is_demanded_of_any_movielens(tmp_path, server, monkeypatch):
    publish(server, monkeypatch, ML_20M)
    source = attempt(tmp_path, server.url, "ml-20m")
    assert (source.origin, source.dataset) == ("download", "ml-20m")
    assert (source.checksum, source.checksum_verified) == (CATALOGUE["ml-20m"].checksum, True)
    # what lies in the official archive is official
    assert (source.archive_is_official, source.ratings_is_official) == (True, True)
    assert attempt(tmp_path, server.url, "ml-20m").origin == "cache"
    (tmp_path / "cache" / "ml-20m.zip").write_bytes(b"spoilt")
    assert attempt(tmp_path, server.url, "ml-20m").origin == "download"


@pytest.mark.usefixtures("other")
def test_other_archive_than_the_published_one(tmp_path, server):
    problem = refused(tmp_path, server.url, name="ml-20m", retries=0)
    assert problem.startswith(f"wrong checksum, expected {ML_20M.checksum}; ")


def test_no_checksum(tmp_path, server):
    small = CATALOGUE["ml-latest-small"]
    path = write_archive(tmp_path / "small.zip", CSV, member=small.member)
    server.content = path.read_bytes()
    source = attempt(tmp_path, server.url, small.name)
    assert (source.archive_is_official, source.ratings_is_official) == (None, None)
    assert (source.checksum, source.checksum_verified) == (None, False)
    assert attempt(tmp_path, server.url, small.name).origin == "cache"


def test_local_archive_of_another_dataset(tmp_path, other):
    settings = DatasetSettings(archive=str(other))
    with pytest.raises(InputError, match=r"lacks ml-1m/ratings\.dat; expected a MovieLens 1M"):
        fetch(tmp_path / "out.zip", settings)
    source = fetch(tmp_path / "out.zip", settings.replaced(name="ml-20m"))
    assert (source.archive_is_official, source.ratings_is_official) == (False, None)


def test_address_is_the_publishers_by_default(tmp_path, monkeypatch):
    def closed(*_):
        raise UnreachableError("connection refused")

    monkeypatch.setattr("sampled_metrics.datasets.download.download_to", closed)
    with pytest.raises(UnreachableError, match=re.escape(f"({ML_20M.url}: connection refused)")):
        attempt(tmp_path, name="ml-20m")
