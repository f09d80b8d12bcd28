"""Commands of gdb's machine interface for a debug adapter: loaded behind `commands.py`, whose session they move.

`-unsnarl-move` executes one movement to its end. gdb answers it as soon as the program runs, so that its result is asked
for by `-unsnarl-where`, which gdb reads only when the movement is over.
"""

FIRST = 0


class Stop:
    """The last stop of the program, as gdb reported it."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.reason = "none"
        self.signal = ""
        self.breakpoints = []
        self.error = ""
        self.notes = []

    def say(self, text):
        self.notes.append(text)

    def note(self, event):
        self.reason, self.signal, self.breakpoints = "step", "", []
        if isinstance(event, gdb.BreakpointEvent):
            self.breakpoints = [point.number for point in event.breakpoints if point.number > 0]
            self.reason = "breakpoint"
        elif isinstance(event, gdb.SignalEvent):
            self.reason, self.signal = "signal", event.stop_signal


last = Stop()
gdb.events.stop.connect(last.note)
session.say = last.say


class OffBreakpoints:
    """Keeps the user's breakpoints from stopping the program on the way to an event that is behind."""

    def __enter__(self):
        self.points = [point for point in gdb.breakpoints() if point.visible and point.enabled]
        for point in self.points:
            point.enabled = False

    def __exit__(self, *_):
        for point in self.points:
            if point.is_valid():
                point.enabled = True


def end():
    if session.is_alive():
        notes = list(last.notes)
        gdb.execute("kill", to_string=True)
        # That it has ended is no news.
        last.notes = notes


def reach(number):
    """Runs forward to an event."""
    if session.run_until(number):
        last.reason, last.breakpoints = "event", []
        session.check()
        select_thread_of(number)


def select_thread_of(number):
    """Selects the thread of an event: that somebody waits for ever is found by another one."""
    if number >= len(session.events):
        return
    session.name_threads()
    name = session.name(int(session.events[number][1]))
    for thread in gdb.selected_inferior().threads():
        if thread.name == name and thread.num != gdb.selected_thread().num:
            thread.switch()
            select_users_frame()
            return


def to_entry():
    """Goes to the beginning of `main`, from the start."""
    with OffBreakpoints():
        end()
        point = gdb.Breakpoint("main", internal=True, temporary=True)
        point.silent = True
        session.resume()
    if last.reason == "breakpoint":
        # It is no breakpoint of the user's.
        last.reason = "step"
    show_users_frame()


def to_event(number):
    """Goes to an event; to one that is behind by starting over, which the schedule makes exact."""
    if session.is_alive() and number > session.position():
        reach(number)
        return
    with OffBreakpoints():
        end()
        reach(number)


def next_hit():
    """Runs to the next breakpoint of the user's. False at the event where the search ends, or when the program ends."""
    while True:
        last.reason = "none"
        session.resume()
        if not session.is_alive() or gdb.newest_frame().name() == "unsnarl_stop":
            return False
        if last.reason == "breakpoint":
            return True


def hits_before(number):
    """Stops at the user's breakpoints from the start up to an event."""
    end()
    session.target = number
    hits = 0
    try:
        while next_hit() and session.position() < number:
            hits += 1
    finally:
        session.target = NEVER
        session.stop_at(NEVER)
    return hits


def back_to_hit():
    """The last stop at a breakpoint before the current event, or the start."""
    here = session.position() if session.is_alive() else len(session.events)
    hits = hits_before(here)
    if hits == 0:
        to_event(FIRST)
        return
    end()
    for _ in range(hits):
        next_hit()
    select_users_frame()


def level(frame):
    count, newer = 0, frame.newer()
    while newer is not None:
        count, newer = count + 1, newer.newer()
    return count


def leave_runtime():
    """Returns from the runtime into the user's function. False when something else stopped the program on the way."""
    select_users_frame()
    inner = level(gdb.selected_frame())
    if inner == 0:
        return True
    gdb.execute(f"frame {inner - 1}", to_string=True)
    gdb.execute("finish", to_string=True)
    return session.is_alive() and last.reason == "step"


def line_step(word):
    if leave_runtime():
        gdb.execute(word, to_string=True)
        show_users_frame()


def out():
    select_users_frame()
    gdb.execute("finish", to_string=True)
    show_users_frame()


def onward():
    session.resume()
    show_users_frame()


def show_users_frame():
    if session.is_alive():
        session.check()
        select_users_frame()


MOVES = {
    "event": lambda row: to_event(session.number_of_row(int(row))),
    "entry": to_entry,
    "end": lambda: reach(len(session.events)),
    "back": back_to_hit,
    "continue": onward,
    "next": lambda: line_step("next"),
    "step": lambda: line_step("step"),
    "finish": out,
}


class Move(gdb.MICommand):
    """-unsnarl-move THREAD WORD [ROW]: THREAD is gdb's number, 0 for the selected one."""

    def invoke(self, arguments):
        thread, word, *rest = arguments
        last.clear()
        try:
            if thread != "0" and session.is_alive():
                gdb.execute(f"thread {thread}", to_string=True)
            MOVES[word](*rest)
            if session.is_alive():
                session.name_threads()
        except gdb.error as error:
            last.error = str(error)


class Where(gdb.MICommand):
    """-unsnarl-where: the result of the last movement, and the event at which the program stands."""

    def invoke(self, _):
        number = session.position()
        selected = gdb.selected_thread()
        return {
            "alive": int(session.is_alive()),
            "row": row_of(number),
            "next": row_of(number + 1),
            "text": session.text(number) if number >= 0 else "",
            "thread": selected.num if selected is not None else 0,
            "reason": last.reason,
            "signal": last.signal,
            "breakpoints": last.breakpoints,
            "error": last.error,
            "notes": last.notes,
        }


def row_of(number):
    """First row of the run file of an event, and the number of rows behind the last one."""
    if number < 0:
        return 0
    return int(session.events[number][0]) if number < len(session.events) else session.about["rows"]


Move("-unsnarl-move")
Where("-unsnarl-where")
gdb.execute("set confirm off")
