#!/usr/bin/python3
"""The page of "make demo" in a headless Chromium, by the WebDriver protocol.

    page.py ADDRESS DRIVER [PICTURE]

DRIVER is the address of a chromedriver.  libpq's environment variables lead to the
page's database.  Prints TAP.  With PICTURE, writes a screenshot there as well.
"""

import base64
import json
import sys
import time
import urllib.error
import urllib.request

import psycopg

ADDRESS, DRIVER = sys.argv[1:3]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
SHIFT, TAB, ENTER, SPACE = "\ue008", "\ue004", "\ue007", " "
HOSTILE = "<img src=x onerror=\"console.error('hostile')\"><script>console.error('hostile')</script>"
failed = 0


class Browser:
    def __init__(self):
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                            "--window-size=1100,1150", "--hide-scrollbars"]}
        capabilities = {"browserName": "chrome", "goog:chromeOptions": options,
                        "goog:loggingPrefs": {"browser": "ALL"}}
        answer = self.send("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}}, "")
        self.session = f"/session/{answer['sessionId']}"

    def send(self, method, path, body=None, session=None):
        url = DRIVER + (self.session if session is None else session) + path
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.read().decode()[:500]}") from error

    def open(self, url):
        self.send("POST", "/url", {"url": url})
        self.wait("return document.getElementById('connection').dataset.state === 'live'")

    def run(self, script):
        return self.send("POST", "/execute/sync", {"script": script, "args": []})

    def wait(self, script, seconds=20):
        end = time.time() + seconds
        while not (value := self.run(script)) and time.time() < end:
            time.sleep(0.05)
        return value

    def press(self, keys):
        down = [{"type": "keyDown", "value": key} for key in keys]
        up = [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self.send("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": down + up}]})

    def node(self, selector, what):
        found = self.send("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]
        return self.send("GET", f"/element/{found}/{what}")

    def media(self, **features):
        self.send("POST", "/goog/cdp/execute", {
            "cmd": "Emulation.setEmulatedMedia",
            "params": {"features": [{"name": n.replace("_", "-"), "value": v} for n, v in features.items()]}})

    def messages(self):
        return [m["message"] for m in self.send("POST", "/se/log", {"type": "browser"})]

    def picture(self, path):
        """A good player's page, after a match."""
        self.open(f"{ADDRESS}?player={sql('SELECT member FROM leaderboard.lb_at(64, $$arena$$)')[0][0]}")
        self.run("document.getElementById('play').click()")
        self.wait("return document.getElementById('result').textContent")
        self.send("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
            "width": 1040, "height": 950, "deviceScaleFactor": 1, "mobile": False}})
        time.sleep(1)
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("GET", "/screenshot")))
        self.send("POST", "/goog/cdp/execute", {"cmd": "Emulation.clearDeviceMetricsOverride", "params": {}})


def ok(condition, title, got=""):
    global failed
    print(f"{'ok' if condition else 'not ok'} - {title}", flush=True)
    if not condition:
        failed += 1
        print(f"# {got}")


def sql(statement):
    with psycopg.connect(autocommit=True) as conn:
        return conn.execute(statement).fetchall() if statement.startswith("SELECT") else conn.execute(statement)


ROWS = "return [...document.querySelectorAll('#%s-rows tr')].map((r) => [...r.cells].map((c) => c.textContent))"
RANK = "return document.getElementById('rank').textContent"
# The least contrast of a text with what is behind it, over all visible texts.
CONTRAST = """
const channel = (c) => { c /= 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const colour = (text) => text.match(/[0-9.]+/g).map(Number);
const behind = (e) => {
  for (; e; e = e.parentElement) {
    const c = colour(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c;
  }
  return [255, 255, 255];
};
let least = [99, ''];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || e.closest('.hidden, noscript') || !e.checkVisibility()) continue;
  const [a, b] = [light(colour(getComputedStyle(e).color)), light(behind(e))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < least[0]) least = [ratio, e.outerHTML];
}
return least;"""


def check_ranks(browser):
    best = sql("SELECT rank::text, name, to_char(score, 'FM9,999') FROM leaderboard.lb_top(10, 'arena') t"
               " JOIN arena_player p ON p.id = t.member ORDER BY t.rank")
    rows = browser.run(ROWS % "top")
    ok(rows == [list(row) for row in best], "the top 10 is that of the database", f"{rows} {best}")
    before = browser.run(RANK)
    sql("UPDATE arena_player SET rating = (SELECT max(rating) + 50 FROM arena_player) WHERE id = 42")
    ok(before != "1" and browser.wait(f"{RANK} === '1'"), "a score moves, and the rank with it", before)
    ok(browser.run(ROWS % "top")[0][1] == sql("SELECT name FROM arena_player WHERE id = 42")[0][0],
       "the player is first in the list")
    sql("UPDATE arena_player SET rating = 1500 WHERE id = 42")
    ok(browser.wait(f"{RANK} !== '1'"), "and back")
    ok(browser.wait("return document.getElementById('announcement').textContent.startsWith('Your rank is')"),
       "a screen reader hears of it")
    counts = sum(int(row[1]) for row in browser.run(ROWS % "histogram"))
    ok(counts == 1000, "the histogram has all players", counts)


def check_windows(browser):
    first = browser.send("GET", "/window")
    second = browser.send("POST", "/window/new", {"type": "window"})["handle"]
    browser.send("POST", "/window", {"handle": second})
    browser.open(ADDRESS + "?player=7")
    sql("UPDATE arena_player SET rating = (SELECT max(rating) + 1 FROM arena_player) WHERE id IN (7, 99)")
    lists = {}
    for window in (first, second):
        browser.send("POST", "/window", {"handle": window})
        browser.wait("return document.querySelectorAll('#top-rows [data-id=\"7\"], #top-rows [data-id=\"99\"]').length === 2")
        lists[window] = browser.run(ROWS % "top")
    ok(lists[first] == lists[second], "two windows agree", lists)
    browser.send("POST", "/window", {"handle": second})
    browser.send("DELETE", "/window")
    browser.send("POST", "/window", {"handle": first})


def check_keyboard(browser):
    browser.open(ADDRESS)
    reached = []
    for _ in range(30):
        browser.press([TAB])
        reached.append(browser.run("return document.activeElement.id || document.activeElement.tagName"))
        style = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
        if reached[-1] not in ("A",) and style == "none":
            ok(False, f"the focus on {reached[-1]} is visible")
        if reached[-1] == "play":
            break
    ok(reached[:2] == ["A", "pause"] and reached[-1] == "play" and len(reached) == 13,
       "the keyboard reaches skip link, pause, the ten links and the button", reached)
    ok(browser.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid", "the focus is visible")
    score = sql("SELECT rating FROM arena_player WHERE id = 42")
    browser.press([ENTER])
    ok(browser.wait("return /^(Won|Lost)/.test(document.getElementById('result').textContent)"),
       "Enter plays a match, and its result is a status")
    ok(sql("SELECT rating FROM arena_player WHERE id = 42") != score, "which counts in the database")
    shown = sql("SELECT to_char(rating, 'FM9,999') FROM arena_player WHERE id = 42")[0][0]
    ok(browser.wait(f"return document.getElementById('score').textContent === '{shown}'"), "and is on the page")
    for _ in range(11):
        browser.press([SHIFT, TAB])
    browser.press([SPACE])
    ok(browser.node("#pause", "attribute/aria-pressed") == "true", "Space pauses")
    before = browser.run(RANK)
    sql("UPDATE arena_player SET rating = rating + 400 WHERE id = 42")
    time.sleep(0.6)
    ok(browser.run(RANK) == before, "nothing moves while it is paused")
    browser.press([SPACE])
    ok(browser.wait(f"{RANK} !== '{before}'"), "and the latest is there afterwards")
    # A row takes the focus along.
    browser.run("document.querySelector('#around-rows tr.me a').focus()")
    sql("UPDATE arena_player SET rating = 1400 WHERE id = 42")
    browser.wait("return document.getElementById('score').textContent === '1,400'")
    ok(browser.run("return document.activeElement.closest('tr')?.className") == "me", "the focus moves with its row")


def check_names(browser):
    for selector, role, label in (
            ("#top table", "table", "The ten best players"), ("#around table", "table", "You and your neighbours"),
            ("#top-rows th", "rowheader", None), ("#top thead th", "columnheader", "Rank"), ("main", "main", None),
            ("#play", "button", "Play a match"), ("#top", "region", "Top 10"), ("#result", "status", None)):
        got = (browser.node(selector, "computedrole"), browser.node(selector, "computedlabel"))
        ok(got[0] == role and label in (None, got[1]), f"{selector} is a {role} for a screen reader", got)
    label = browser.node("#bars", "computedlabel")
    ok(label.startswith("Histogram of ratings from "), "the histogram has a text", label)
    for scheme in ("light", "dark"):
        browser.media(prefers_color_scheme=scheme)
        least = browser.run(CONTRAST)
        ok(least[0] >= 4.5, f"contrast of {least[0]:.1f} in the {scheme}", least)


def check_motion(browser):
    # The page looks rows up while it moves them; Animation objects tell.
    browser.run("window.animated = 0; const animate = Element.prototype.animate;"
                "Element.prototype.animate = function (...a) { window.animated++; return animate.apply(this, a); }")
    for motion, moves in (("no-preference", True), ("reduce", False)):
        browser.media(prefers_reduced_motion=motion, prefers_color_scheme="light")
        browser.run("window.animated = 0")
        sql("UPDATE arena_player SET rating = (SELECT max(rating) + 1 FROM arena_player) WHERE id = 42")
        browser.wait(f"{RANK} === '1'")
        sql("UPDATE arena_player SET rating = 1400 WHERE id = 42")
        browser.wait(f"{RANK} !== '1'")
        ok((browser.run("return window.animated") > 0) == moves, f"rows slide with {motion}: {moves}")


def check_safety(browser):
    with psycopg.connect(autocommit=True) as conn:
        conn.execute("UPDATE arena_player SET name = %s, rating = 1400, reached = now() WHERE id = 42", (HOSTILE,))
    browser.open(ADDRESS)
    ok(browser.run("return document.getElementById('name').textContent") == HOSTILE, "a hostile name is text")
    ok(browser.run("return document.images.length") == 1, "and nothing else")
    resources = browser.run("return performance.getEntriesByType('resource').map((r) => r.name)")
    ok(resources and all(r.startswith(ADDRESS) for r in resources), "nothing comes from elsewhere", resources)
    origin = ADDRESS.rstrip("/")
    for title, headers, method, path in (
            ("another host", {"Host": "example.org"}, "GET", ""),
            ("a submit of another site", {"Origin": "http://example.org"}, "POST", "play?player=1"),
            ("a submit of no page", {}, "POST", "play?player=1"),
            ("a player who is none", {"Origin": origin}, "POST", "play?player=1001"),
            ("a path that leads out", {}, "GET", "../server.py")):
        try:
            urllib.request.urlopen(urllib.request.Request(ADDRESS + path, headers=headers, method=method), timeout=10)
            status = 200
        except urllib.error.HTTPError as error:
            status = error.code
        ok(status in (403, 404), f"{title} is refused", status)


def main():
    browser = Browser()
    try:
        if len(sys.argv) > 3:
            browser.picture(sys.argv[3])
        browser.open(ADDRESS)
        check_ranks(browser)
        check_windows(browser)
        check_keyboard(browser)
        check_names(browser)
        check_motion(browser)
        messages = browser.messages()
        ok(messages == [], "the console is empty", messages)
        check_safety(browser)
        messages = browser.messages()
        ok(messages == [], "and stays empty", messages)
    finally:
        browser.send("DELETE", "")
    print(f"# {failed} failed" if failed else "# all is well")
    sys.exit(failed > 0)


main()
