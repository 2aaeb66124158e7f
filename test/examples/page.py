#!/usr/bin/python3
"""The page of "make demo" in a headless Chromium, by the WebDriver protocol.

    page.py ADDRESS DRIVER page|plain|picture [PICTURE]

DRIVER is the address of a chromedriver.  libpq's environment variables lead to the
page's database.  Prints TAP.  "page" is for a server that plays no matches, "plain"
for one that does, with players who have scores only, as those of a file.  "picture"
writes a screenshot to PICTURE.
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
SHIFT, TAB, ENTER, SPACE, ESCAPE = "\ue008", "\ue004", "\ue007", " ", "\ue00c"
HOME, END, LEFT, RIGHT = "\ue011", "\ue010", "\ue012", "\ue014"
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
            with urllib.request.urlopen(request, timeout=300) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.read().decode()[:500]}") from error

    def open(self, url):
        self.send("POST", "/url", {"url": url})
        self.wait("return ['live', 'none'].includes(document.getElementById('connection').dataset.state)")

    def run(self, script):
        return self.send("POST", "/execute/sync", {"script": script, "args": []})

    def wait(self, script, seconds=300):
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

    def size(self, width, height):
        self.send("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}})

    def type(self, selector, text):
        self.run(f"document.querySelector('{selector}').focus()")
        self.run(f"document.querySelector('{selector}').select?.()")
        for key in text:
            self.press([key])

    def picture(self, path):
        """What the page shows in README."""
        self.size(1120, 1060)
        self.open(ADDRESS)
        while not self.run("return document.getElementById('result').textContent.startsWith('Won')"):
            self.run("document.getElementById('result').textContent = ''; document.getElementById('play').click()")
            self.wait("return document.getElementById('result').textContent")
        self.wait("return ['up', 'down'].every((c) => document.querySelector(`#list-rows .${c}`))")
        # What it takes where nothing else keeps the machine busy.
        self.wait("return parseFloat(document.getElementById('took').textContent) < 0.3")
        self.wait("return document.getAnimations().length === 0")
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("GET", "/screenshot")))


def ok(condition, title, got=""):
    global failed
    print(f"{'ok' if condition else 'not ok'} - {title}", flush=True)
    if not condition:
        failed += 1
        print(f"# {got}")


def sql(statement):
    with psycopg.connect(autocommit=True, options="-c search_path=public,leaderboard") as conn:
        return conn.execute(statement).fetchall() if statement.startswith("SELECT") else conn.execute(statement)


RANK = "return document.getElementById('rank').textContent"
LIST = ("return [...document.querySelectorAll('#list-rows tr')].map((r) =>"
        " [r.cells[0], r.querySelector('a'), r.cells[3]].map((e) => e.textContent))")
PODIUM = "return [...document.querySelectorAll('#steps li')].map((r) => [...r.children].map((e) => e.textContent))"
HITS = ("return [...document.querySelectorAll('#hits li')].map((r) =>"
        " [r.querySelector('b').textContent, r.querySelector('a').firstChild.textContent])")
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


def rows(read):
    """What a function of the board returns, as the page shows it."""
    return [list(row) for row in sql(
        f"SELECT to_char(t.rank, 'FM9,999,999'), p.name, to_char(t.score, 'FM9,999,999') FROM {read} t"
        " JOIN player_scores p ON p.player_id = t.member ORDER BY t.rank")]


def shows(browser, script, want, title):
    """Wait until the script returns this."""
    text = json.dumps(json.dumps(want, ensure_ascii=False, separators=(",", ":")))
    ok(browser.wait(f"return JSON.stringify((() => {{ {script} }})()) === {text}"), title,
       f"{browser.run(script)} instead of {want}")


def move(player, score):
    sql(f"UPDATE player_scores SET score = {score} WHERE player_id = {player}")


BEST = "(SELECT max(score) + 50 FROM player_scores)"


def check_ranks(browser):
    shows(browser, PODIUM, rows("lb_top(3)"), "the podium is that of the database")
    shows(browser, LIST, rows("lb_around(42, radius => 5)"), "the list is around the player")
    statement = browser.run("return document.querySelector('#you pre').textContent")
    rank, score, percentile, total = sql(statement)[0]
    shown = browser.run("return ['rank', 'score', 'percentile', 'total'].map("
                        "(id) => document.getElementById(id).textContent)")
    ok(shown == [f"{rank:,}", f"{score:,}", f"{int(percentile * 100) / 100:.2f}", f"{total:,}"],
       "the statement that the page shows returns what it shows", f"{statement} {shown}")
    ok(browser.run("return /^[0-9.]+ ms$/.test(document.getElementById('took').textContent)"),
       "with the time that it took")
    drawers = browser.run("return [...document.querySelectorAll('section .sql pre')].map((e) => e.textContent)")
    ok(len(drawers) == 4 and all(sql(drawer) for drawer in drawers), "each card's statement runs", drawers)
    before = browser.run(RANK)
    move(42, BEST)
    shows(browser, RANK, "1", "a score moves, and the rank with it")
    shows(browser, PODIUM, rows("lb_top(3)"), "the player is on the podium")
    moved = browser.run("const e = document.querySelector('#list .me .change');"
                        "return [e.className, e.textContent[0], e.getAttribute('aria-label')]")
    ok(moved == ["change up", "▲", f"up {int(before.replace(',', '')) - 1:,}"], "an arrow says how far", moved)
    shows(browser, "return document.getElementById('percentile').textContent", "100.00", "the best is at 100 percent")
    move(42, 1500)
    ok(browser.wait(f"{RANK} !== '1'"), "and back")
    ok(browser.wait("return document.getElementById('announcement').textContent.startsWith('Your rank is')"),
       "a screen reader hears of it")
    counts = sum(int(text.replace(",", "")) for text in browser.run(
        "return [...document.querySelectorAll('#histogram-rows td')].map((e) => e.textContent)"))
    ok(counts == total, "the histogram has all players", counts)
    ticks = browser.run("return ['x', 'y'].map((a) => document.querySelectorAll(`#${a}-axis span`).length)")
    ok(ticks[0] == 5 and ticks[1] >= 3, "both its axes have ticks", ticks)


def check_depth(browser):
    total = sql("SELECT lb_count()")[0][0]
    browser.type("#place", "12345")
    browser.press([ENTER])
    shows(browser, LIST, rows("lb_top(11, skip => 12344)"), "a number leads to that rank")
    shows(browser, "return document.querySelector('.aim').cells[0].textContent", "12,345", "which is marked")
    ok(browser.wait("return document.getElementById('jumped').textContent.startsWith('Ranks 12,345 to 12,355, of ')"),
       "a screen reader hears where the list is")
    browser.run("document.getElementById('next').click()")
    shows(browser, LIST, rows("lb_top(11, skip => 12355)"), "and there is a next page")
    browser.run("document.getElementById('slider').focus()")
    browser.press([END])
    shows(browser, LIST, rows(f"lb_top(11, skip => {total - 11})"), "the slider leads to the end")
    browser.press([HOME])
    shows(browser, LIST, rows("lb_top(11)"), "and to the top")
    # A drag ends where it ends, whatever is still being asked.
    browser.run("for (let i = 1; i <= 300; i++) { const s = document.getElementById('slider');"
                "s.value = 10 * i; s.dispatchEvent(new Event('input')); }")
    shows(browser, LIST, rows("lb_top(11, skip => 2999)"), "a drag ends where it ends")
    browser.run("document.getElementById('mine').click()")
    shows(browser, LIST, rows("lb_around(42, radius => 5)"), "and back to one's own place")


def check_boards(browser):
    browser.run("document.getElementById('tab-global').focus()")
    for key, board in ((LEFT, "weekly"), (LEFT, "daily"), (RIGHT, "weekly"), (RIGHT, "global")):
        browser.press([key])
        shows(browser, PODIUM, rows(f"lb_top(3, '{board}')"), f"an arrow key leads to {board}")
        ok(browser.node(f"#tab-{board}", "attribute/aria-selected") == "true", "whose tab is selected")
    browser.run("document.getElementById('tab-daily').click()")
    shows(browser, RANK, "–", "who has not played today has no rank")
    shows(browser, LIST, rows("lb_top(11, 'daily')"), "and sees the top")
    countries = [row[0] for row in sql("SELECT DISTINCT 'country:' || country FROM player_scores ORDER BY 1")]
    offered = browser.run("return [...document.getElementById('country').options].map((o) => o.value).sort()")
    ok(offered == ["", *countries], "all countries can be chosen", offered)
    mine, = [row[0] for row in sql("SELECT country FROM player_scores WHERE player_id = 42")]
    select = "const s = document.getElementById('country'); s.value = '%s'; s.dispatchEvent(new Event('change'))"
    browser.run(select % f"country:{mine}")
    shows(browser, LIST, rows(f"lb_around(42, 'country:{mine}', radius => 5)"), "a country has a board of its own")
    ok(browser.node("#tab-global", "attribute/aria-selected") == "true", "of all time")
    browser.run(select % "")
    shows(browser, LIST, rows("lb_around(42, radius => 5)"), "and back to all")


def check_search(browser):
    def hits(condition):
        return [[f"#{rank:,}", name] for rank, name in sql(
            f"SELECT rank, name FROM (SELECT lb_rank(player_id) AS rank, name FROM player_scores WHERE {condition}) s"
            " ORDER BY rank LIMIT 8")]

    browser.type("#text", "Priya w")
    shows(browser, HITS, hits("name ILIKE 'priya w%'"), "a name is found, with the rank among all")
    statement = browser.run("return document.querySelector('#found pre').textContent")
    ok([name for _, _, name, *_ in sql(statement)] == [name for _, name in hits("name ILIKE 'priya w%'")],
       "the search shows its statement", statement)
    browser.press([ESCAPE])
    ok(browser.run("return document.getElementById('found').hidden"), "Escape closes it")
    for text, condition in (("4711", "player_id = 4711"), ("%", "false"), ("'; --", "false"), ("\\", "false")):
        browser.type("#text", text)
        shows(browser, HITS, hits(condition), f"a search for {text} finds what it says")
    shows(browser, "return document.getElementById('hit-count').textContent", "No player found",
          "or says that there is none")
    browser.type("#text", sql("SELECT name FROM player_scores WHERE player_id = 4711")[0][0])
    # Not of what was typed so far.
    shows(browser, HITS, hits("name ILIKE (SELECT name FROM player_scores WHERE player_id = 4711) || '%'"), "a whole name is found")
    browser.run("document.querySelector('#hits a[href$=\"player=4711\"]').click()")
    ok(browser.wait("return location.search === '?player=4711' &&"
                    "document.getElementById('connection').dataset.state === 'live'"), "a hit leads to the player")
    browser.open(ADDRESS + "?player=0")
    missing = browser.run("return document.getElementById('missing').textContent")
    ok(missing.startswith("There is no player 0."), "who does not exist is told so", missing)
    ok(browser.run("return !document.querySelector('main').checkVisibility()"), "and nothing else is shown")
    browser.messages()                      # the answer was 404, which the console says


def check_windows(browser):
    first = browser.send("GET", "/window")
    second = browser.send("POST", "/window/new", {"type": "window"})["handle"]
    browser.send("POST", "/window", {"handle": second})
    browser.open(ADDRESS + "?player=7")
    sql(f"UPDATE player_scores SET score = {BEST} WHERE player_id IN (7, 99)")
    for window in (first, second):
        browser.send("POST", "/window", {"handle": window})
        shows(browser, PODIUM, rows("lb_top(3)"), "two windows agree")
    browser.send("POST", "/window", {"handle": second})
    browser.send("DELETE", "/window")
    browser.send("POST", "/window", {"handle": first})


def check_keyboard(browser):
    reached = []
    browser.open(ADDRESS + "?player=42")
    browser.run("document.body.focus()")
    while reached[-1:] != ["next"] and len(reached) < 40:
        browser.press([TAB])
        reached.append(browser.run("return document.activeElement.id || document.activeElement.tagName"))
        if browser.run("return getComputedStyle(document.activeElement).outlineStyle") == "none":
            ok(False, f"the focus on {reached[-1]} is visible")
    ok(reached == ["A", "pause", "play", "SUMMARY", "PRE", "tab-global", "country", "text", "A", "A", "A", "SUMMARY",
                   "place", "BUTTON", "first", "previous", "next"], "the keyboard reaches all in order", reached)
    before = sql("SELECT score FROM player_scores WHERE player_id = 42")
    browser.run("document.getElementById('play').focus()")
    browser.press([ENTER])
    ok(browser.wait("return /^(Won|Lost)/.test(document.getElementById('result').textContent)"),
       "Enter plays a match, and its result is a status")
    after = sql("SELECT score FROM player_scores WHERE player_id = 42")
    ok(after != before, "which counts in the database")
    shows(browser, "return document.getElementById('score').textContent", f"{after[0][0]:,}", "and is on the page")
    browser.press([SHIFT, TAB])
    browser.press([SPACE])
    ok(browser.node("#pause", "attribute/aria-pressed") == "true", "Space pauses")
    before = browser.run(RANK)
    # What a page asks for is seen by its requests: it gets none of this while it is paused.
    browser.run("performance.clearResourceTimings(); window.told = 0;"
                "events.addEventListener('message', () => { window.told++; })")
    move(42, 5000)
    browser.wait("return window.told > 2")
    ok(browser.run(RANK) == before and browser.run("return performance.getEntriesByType('resource').length") <= 1,
       "nothing moves while it is paused")
    browser.press([SPACE])
    ok(browser.wait(f"{RANK} !== '{before}'"), "and the latest is there afterwards")
    # A row takes the focus along.
    browser.run("document.querySelector('#list-rows tr.me a').focus()")
    move(42, 1400)
    browser.wait("return document.getElementById('score').textContent === '1,400'")
    ok(browser.run("return document.activeElement.closest('tr')?.classList.contains('me')"), "the focus moves with its row")


def check_names(browser):
    for selector, role, label in (
            ("#list table", "table", "Players by rank"), ("#list-rows th", "rowheader", None),
            ("#list thead th", "columnheader", "Rank"), ("main", "main", None), ("#play", "button", "Play a match"),
            ("#podium", "region", "The best three"), ("#list", "tabpanel", "All time"), ("#periods", "tablist", "Period"),
            ("#tab-weekly", "tab", "This week"), ("#country", "combobox", "Country, of all time"),
            ("#text", "searchbox", "Find a player by name"), ("#search", "search", None),
            ("#place", "spinbutton", "Jump to rank"), ("#slider", "slider", "Rank to show"),
            ("#first", "button", "To the top"), ("#result", "status", None),
            ("#you pre", "group", "Statement of your rank")):
        got = (browser.node(selector, "computedrole"), browser.node(selector, "computedlabel"))
        ok(got[0] == role and label in (None, got[1]), f"{selector} is a {role} for a screen reader", got)
    label = browser.node("#plot", "computedlabel")
    ok(label.startswith("Histogram of scores from "), "the histogram has a text", label)
    browser.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    for scheme in ("light", "dark"):
        browser.media(prefers_color_scheme=scheme)
        least = browser.run(CONTRAST)
        ok(least[0] >= 4.5, f"contrast of {least[0]:.1f} in the {scheme}", least)


def check_sizes(browser):
    for width, height in ((1120, 900), (390, 844), (320, 640)):
        browser.size(width, height)
        browser.open(ADDRESS + "?player=42")
        overflow = browser.run("return document.documentElement.scrollWidth - innerWidth")
        ok(overflow <= 0, f"{width} pixels are wide enough", overflow)
        box = browser.run("return document.getElementById('rank').getBoundingClientRect().bottom")
        ok(box < height / 2, "the rank is in the upper half", box)
        ok(browser.wait("return document.getElementById('own').hidden"), "once")
        browser.type("#text", "4")
        browser.wait("return !document.getElementById('found').hidden")
        gap, over = browser.run("const [a, b] = ['text', 'found'].map("
                                "(id) => document.getElementById(id).getBoundingClientRect());"
                                "return [b.top - a.bottom, Math.max(-b.left, b.right - innerWidth)]")
        ok(gap >= 0 and over <= 0, "what is found is below the search, and on the page", (gap, over))
        browser.press([ESCAPE])
        browser.run("scrollTo(0, document.body.scrollHeight)")
        seen = browser.wait("const own = document.getElementById('own'), box = own.getBoundingClientRect();"
                            "return !own.hidden && box.height > 20 && Math.abs(box.bottom - innerHeight) < 1")
        out = browser.run("return document.getElementById('you').getBoundingClientRect().bottom <= 0")
        ok(seen or not out, "and at the bottom while it is out of sight")
        ok(browser.run("return document.getElementById('own-rank').textContent") == "#" + browser.run(RANK), "the same rank")
    browser.run("document.querySelector('#own a').click()")
    ok(browser.wait("return document.getElementById('own').hidden"), "which leads back")
    browser.send("POST", "/goog/cdp/execute", {"cmd": "Emulation.clearDeviceMetricsOverride", "params": {}})


def check_motion(browser):
    # The page looks rows up while it moves them; Animation objects tell.
    browser.open(ADDRESS + "?player=42")
    browser.run("window.animated = 0; const animate = Element.prototype.animate;"
                "Element.prototype.animate = function (...a) { window.animated++; return animate.apply(this, a); }")
    neighbour = "(SELECT member FROM lb_around(42, radius => 1) WHERE member <> 42 ORDER BY rank DESC LIMIT 1)"
    for motion, moves in (("no-preference", True), ("reduce", False)):
        browser.media(prefers_reduced_motion=motion, prefers_color_scheme="light")
        browser.run("window.animated = 0")
        # The next behind overtakes.
        move(neighbour, "(SELECT score + 1 FROM player_scores WHERE player_id = 42)")
        shows(browser, LIST, rows("lb_around(42, radius => 5)"), "a neighbour overtakes")
        ok((browser.run("return window.animated") > 0) == moves, f"rows slide with {motion}: {moves}")


def check_safety(browser):
    with psycopg.connect(autocommit=True) as conn:
        conn.execute("UPDATE player_scores SET name = %s, score = 1400 WHERE player_id = 42", (HOSTILE,))
    browser.open(ADDRESS + "?player=42")
    ok(browser.run("return document.getElementById('name').textContent") == HOSTILE, "a hostile name is text")
    ok(browser.run("return document.images.length") == 1, "and nothing else")
    resources = browser.run("return performance.getEntriesByType('resource').map((r) => r.name)")
    ok(resources and all(r.startswith(ADDRESS) for r in resources), "nothing comes from elsewhere", resources)
    origin = ADDRESS.rstrip("/")
    for title, headers, method, path in (
            ("another host", {"Host": "example.org"}, "GET", ""),
            ("a submit of another site", {"Origin": "http://example.org"}, "POST", "play?player=1"),
            ("a submit of no page", {}, "POST", "play?player=1"),
            ("a player who is none", {"Origin": origin}, "POST", "play?player=99999999"),
            ("a player who is no number", {}, "GET", "state?player=1%20OR%20true"),
            ("events of a player who is none", {}, "GET", "events?player=0"),
            ("a board that is none", {}, "GET", "state?player=1&board=country:XX"),
            ("a rank that is none", {}, "GET", "state?player=1&place=1e9"),
            ("a search for nothing", {}, "GET", "search?text=%20"),
            ("a search for a zero byte", {}, "GET", "search?text=%00"),
            ("a long search", {}, "GET", "search?text=" + "a" * 51),
            ("a path that leads out", {}, "GET", "../server.py")):
        try:
            urllib.request.urlopen(urllib.request.Request(ADDRESS + path, headers=headers, method=method), timeout=300)
            status = 200
        except urllib.error.HTTPError as error:
            status = error.code
        ok(status in (400, 403, 404), f"{title} is refused", status)
    with urllib.request.urlopen(ADDRESS, timeout=300) as response:
        policy = response.headers["Content-Security-Policy"]
    ok(policy.startswith("default-src 'none';") and "unsafe" not in policy, "the policy is strict", policy)


def check_plain(browser):
    browser.open(ADDRESS + "?player=42")
    ok(browser.run("return document.getElementById('name').textContent") == "Player 42", "who has no name has a number")
    ok(browser.run("return document.getElementById('countries').hidden"), "without countries there is no choice of them")
    before = sql("SELECT max(updated_at) FROM player_scores")[0][0]
    end = time.time() + 300
    while (still := sql("SELECT max(updated_at) FROM player_scores")[0][0] == before) and time.time() < end:
        time.sleep(0.05)
    ok(not still, "matches are played while a page is open")
    ok(browser.wait("return document.querySelector('#list-rows .up, #list-rows .down') !== null"), "and move the page")


def main():
    browser = Browser()
    try:
        if sys.argv[3] == "picture":
            browser.picture(sys.argv[4])
        elif sys.argv[3] == "plain":
            check_plain(browser)
        else:
            browser.open(ADDRESS + "?player=42")
            for check in (check_ranks, check_depth, check_boards, check_windows, check_search, check_keyboard,
                          check_names, check_sizes, check_motion):
                check(browser)
            messages = browser.messages()
            ok(messages == [], "the console is empty", messages)
            check_safety(browser)
        messages = browser.messages()
        ok(messages == [], "the console stays empty", messages)
    finally:
        browser.send("DELETE", "")
    print(f"# {failed} failed" if failed else "# all is well")
    sys.exit(failed > 0)


main()
