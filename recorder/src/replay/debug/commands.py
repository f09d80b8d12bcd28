"""Commands of gdb for a program that follows a recorded schedule.

The log's memory is shared with the program: how far it has come is read there, and which event it is
to stop at is written there. The program calls `unsnarl_stop` at that event, where a breakpoint waits.
"""

import json
import mmap
import os
import re
import struct

import gdb

NEVER = 2**64 - 1
OFF = b"\0"


class Session:
    """The recorded run, and the log of the one that is being debugged."""

    def __init__(self):
        with open(os.environ["UNSNARL_DEBUG"], encoding="utf-8") as file:
            self.about = json.load(file)
        with open(self.about["events"], encoding="utf-8") as file:
            self.events = [line.rstrip("\n").split("\t", 3) for line in file]
        self.log = mmap.mmap(self.about["log"], self.about["log_bytes"])
        self.stop_point = None
        self.silenced = None
        self.warned = False
        # Where a command wants to stop.
        self.target = NEVER
        self.reset()

    # The log.

    def u32(self, at):
        return struct.unpack_from("=I", self.log, at)[0]

    def u64(self, name):
        return struct.unpack_from("=Q", self.log, self.about["header"][name])[0]

    def stop_at(self, number):
        struct.pack_into("=Q", self.log, self.about["header"]["stop_at"], number)

    def record(self, index):
        """Kind, flags, thread, place in the code."""
        at = self.u64("records_at") + index * self.about["record"]["size"]
        kind, flags, thread, _, pc = struct.unpack_from("=BBHIQ", self.log, at)
        return self.about["kinds"].get(str(kind), "?"), flags, thread, pc

    def reset(self):
        """Makes the log as new: the program is about to start, perhaps again."""
        header = self.about["header"]
        self.log[header["written"] : header["written_end"]] = bytes(
            header["written_end"] - header["written"]
        )
        threads = self.u64("threads_at")
        size = self.about["thread"]["size"] * self.about["thread"]["most"]
        self.log[threads : threads + size] = bytes(size)
        self.stop_at(NEVER)
        self.silenced = None

    def position(self):
        """Number of the last event; -1 before the first."""
        return self.u64("events_so_far") - 1

    # Texts.

    def text(self, number):
        if number >= len(self.events):
            return "the end of the run"
        row, _, _, text = self.events[number]
        return f"event {row} of {self.about['rows']}: {text}"

    def number_of_row(self, row):
        """Number of the event that has this row of the run file."""
        rows = [int(event[0]) for event in self.events]
        at = [number for number, first in enumerate(rows) if first <= row]
        if not at or row >= self.about["rows"]:
            raise gdb.GdbError(f"there is no event {row}: the run has {self.about['rows']}, from 0")
        return at[-1]

    def say(self, text):
        """Tells the user something."""
        print(text)

    def check(self):
        """Says when what happens is not what was recorded."""
        number = self.position()
        if number < 0:
            return
        kind, _, thread, _ = self.record(self.u64("last_event"))
        if number < len(self.events):
            _, recorded_thread, recorded_kind, _ = self.events[number]
            if (int(recorded_thread), recorded_kind) == (thread, kind):
                return
        name = self.name(thread)
        self.say(
            f"the program has left the recorded run: recorded {self.text(number)};\n"
            f"  now {name}: {kind}. The events from here on are not those of the run file."
        )

    def name(self, thread):
        names = self.about["threads"]
        return names[thread] if thread < len(names) else f"thread {thread}"

    # Running.

    def is_alive(self):
        return gdb.selected_inferior().pid != 0

    def resume(self):
        """Goes on, or begins. What gdb prints."""
        if self.stop_point is None:
            self.stop_point = gdb.Breakpoint("unsnarl_stop", internal=True)
            self.stop_point.silent = True
        if gdb.parameter("scheduler-locking") == "on":
            raise gdb.GdbError(
                "with scheduler-locking on, no thread can take the turn\n"
                "  next: set scheduler-locking off"
            )
        return gdb.execute("continue" if self.is_alive() else "run", to_string=True)

    def run_until(self, number):
        """Runs to an event. True when it is there."""
        if number <= self.position() and self.is_alive():
            raise gdb.GdbError(
                f"{self.text(number)} is over\n  next: kill, then the command again: from the start"
            )
        self.target = number
        self.stop_at(number)
        try:
            printed = self.resume()
        finally:
            self.target = NEVER
            self.stop_at(NEVER)
        if not self.is_alive():
            return False
        if gdb.newest_frame().name() != "unsnarl_stop":
            # Something else stopped it: a breakpoint, a signal.
            print(printed, end="")
            select_users_frame()
            return False
        self.to_the_source()
        return True

    def before_run(self):
        """`run` begins anew."""
        self.reset()
        self.stop_at(self.target)

    def to_the_source(self):
        """From the runtime to the place in the program, where nothing happens on the way there."""
        index = self.u64("last_event")
        kind, flags, thread, pc = self.record(index)
        is_whole = not flags & self.about["record"]["range_word"]
        if kind in self.about["returns"] and is_whole and not self.is_in_wait(index, kind, thread, pc):
            arrival = gdb.Breakpoint(f"*{pc}", internal=True, temporary=True)
            arrival.silent = True
            arrival.thread = gdb.selected_thread().global_num
            gdb.execute("continue", to_string=True)
        select_users_frame()

    def is_in_wait(self, index, kind, thread, pc):
        """A lock or unlock that a wait on a condition variable does itself."""
        if kind not in ("lock", "unlock"):
            return False
        while index > 0:
            index -= 1
            before, _, other, other_pc = self.record(index)
            if other == thread and before != "?":
                return before in ("wait", "unlock") and other_pc == pc
        return False

    def show(self):
        """Where the program is."""
        self.name_threads()
        self.check()
        print(self.text(self.position()))
        frame = gdb.execute("frame", to_string=True)
        print(re.sub(r"^(#[0-9]+ +)0x[0-9a-f]+ in ", r"\1", frame), end="")

    def name_threads(self):
        about = self.about["thread"]
        ids, nameless = {}, []
        for number in range(min(self.u32(self.about["header"]["threads"]), about["most"])):
            at = self.u64("threads_at") + number * about["size"] + about["kernel_id"]
            ids[self.u32(at)] = number
            if self.u32(at) == 0:
                nameless.append(number)
        for thread in sorted(gdb.selected_inferior().threads(), key=lambda thread: thread.num):
            number = ids.get(thread.ptid[1])
            if number is None and nameless:
                # It was created, and has not had its first turn: such threads are in the order of their creation.
                number = nameless.pop(0)
            if number is not None:
                thread.name = self.name(number)

    # Calls that the user makes in the debugger.

    def mode_at(self):
        return int(gdb.parse_and_eval("(unsigned long) &unsnarl_shared"))

    def silence(self):
        """Before a function of the program is called from the debugger: it is not part of the run."""
        if self.silenced is None:
            inferior = gdb.selected_inferior()
            at = self.mode_at()
            self.silenced = (at, bytes(inferior.read_memory(at, 1)))
            inferior.write_memory(at, OFF)

    def unsilence(self):
        """After it has returned. One that was stopped on the way is still not part of the run."""
        if self.silenced is None or not self.is_alive() or in_call():
            return
        at, mode = self.silenced
        gdb.selected_inferior().write_memory(at, mode)
        self.silenced = None


def in_call():
    """A function that was called from the debugger has not returned.

When one has, gdb tells of it while the frame that it returned to is still there."""
    frame = gdb.newest_frame().older()
    while frame is not None:
        if frame.type() == gdb.DUMMY_FRAME:
            return True
        frame = frame.older()
    return False


def select_users_frame():
    """The innermost frame with source of the user's."""
    frame = gdb.newest_frame()
    while frame is not None:
        table = frame.find_sal().symtab
        if table is not None and not table.fullname().startswith(("/usr/", "./nptl", "../sysdeps")):
            if os.path.exists(table.fullname()):
                frame.select()
                return
        frame = frame.older()


session = Session()


def on_call(event):
    if isinstance(event, gdb.InferiorCallPreEvent):
        session.silence()
    else:
        session.unsilence()


def on_stop(_):
    session.unsilence()
    session.name_threads()


def on_exit(_):
    if session.u32(session.about["header"]["end"]) == session.about["running"]:
        # Ended by the user.
        return
    made, recorded = session.position() + 1, len(session.events)
    if made == recorded:
        session.say(f"the program has ended, after all {session.about['rows']} events")
    else:
        session.say(f"the program has ended, after {made} steps, where {recorded} were recorded")


def on_continue(_):
    mode = gdb.parameter("scheduler-locking")
    if mode in ("on", "step") and not session.warned:
        session.warned = True
        session.say(
            f"scheduler-locking is {mode}: where the schedule goes to another thread, a step waits for ever\n"
            "  next: set scheduler-locking off"
        )


gdb.events.inferior_call.connect(on_call)
gdb.events.stop.connect(on_stop)
gdb.events.exited.connect(on_exit)
gdb.events.cont.connect(on_continue)


class Unsnarl(gdb.Command):
    """Move along a recorded run, event by event."""

    def __init__(self):
        super().__init__("unsnarl", gdb.COMMAND_RUNNING, prefix=True)


class NextEvent(gdb.Command):
    """Run to the next event of the recorded run: unsnarl next-event [COUNT]

At a plain read or write the program stands right before it; everything else has just happened."""

    def __init__(self):
        super().__init__("unsnarl next-event", gdb.COMMAND_RUNNING)

    def invoke(self, argument, _):
        count = count_of(argument)
        start = session.position() if session.is_alive() else -1
        go(start + count)


class GotoEvent(gdb.Command):
    """Run forward to an event by its number in the run file: unsnarl goto-event NUMBER"""

    def __init__(self):
        super().__init__("unsnarl goto-event", gdb.COMMAND_RUNNING)

    def invoke(self, argument, _):
        if not argument.strip().isdigit():
            raise gdb.GdbError("which event? as in: unsnarl goto-event 57")
        go(session.number_of_row(int(argument)))


class NextStep(gdb.Command):
    """Run to the next step of the explanation of this run: unsnarl next-step [COUNT]"""

    def __init__(self):
        super().__init__("unsnarl next-step", gdb.COMMAND_RUNNING)

    def invoke(self, argument, _):
        count = count_of(argument)
        steps = session.about["steps"]
        if not steps:
            raise gdb.GdbError("there is no explanation of this run\n  next: unsnarl explain says why")
        now = session.position() if session.is_alive() else -1
        coming = [
            (number, step)
            for number, step in enumerate(steps, 1)
            if session.number_of_row(step["event"]) > now
        ]
        if not coming:
            raise gdb.GdbError("that was the last step of the explanation")
        number, step = coming[min(count, len(coming)) - 1]
        if go(session.number_of_row(step["event"])):
            print(f"step {number} of {len(steps)}: {step['text']}")


class RunToFailure(gdb.Command):
    """Run to where the recorded run failed: unsnarl run-to-failure"""

    def __init__(self):
        super().__init__("unsnarl run-to-failure", gdb.COMMAND_RUNNING)

    def invoke(self, argument, _):
        about = session.about
        if about["failure"] is None:
            raise gdb.GdbError(f"the recorded run did not fail: {about['outcome']}")
        if about["failure_event"] is None:
            go(len(session.events))
        else:
            go(session.number_of_row(about["failure_event"]))
        if session.is_alive():
            print(f"here the run failed: {about['failure']}")


class Schedule(gdb.Command):
    """Say where the program is in the recorded run: info schedule"""

    def __init__(self):
        super().__init__("info schedule", gdb.COMMAND_STATUS)

    def invoke(self, argument, _):
        about = session.about
        print(f"{about['run']}: {about['failure'] or about['outcome']}")
        if not session.is_alive():
            print("not running")
            return
        number = session.position()
        if number >= 0:
            print(f"now   {session.text(number)}")
        for coming in range(number + 1, min(number + 4, len(session.events))):
            print(f"next  {session.text(coming)}")
        for at, step in enumerate(about["steps"], 1):
            over = session.number_of_row(step["event"]) <= number
            print(f"{'done' if over else '    '}  step {at}: {step['text']}")


def count_of(argument):
    """How often a command is to be repeated."""
    words = argument.strip()
    if words and (not words.isdigit() or int(words) == 0):
        raise gdb.GdbError(f"{words} is no count, which is a number from 1")
    return int(words or 1)


def go(number):
    if session.run_until(number):
        session.show()
        return True
    return False


def set_up():
    for command in (Unsnarl, NextEvent, GotoEvent, NextStep, RunToFailure, Schedule):
        command()
    for name in ("next-event", "goto-event", "next-step", "run-to-failure"):
        try:
            gdb.execute(f"alias {name} = unsnarl {name}")
        except gdb.error:
            # gdb has a command of this name: the long one remains.
            pass
    gdb.execute("define hook-run\npython session.before_run()\nend")
    gdb.execute("define hook-start\npython session.before_run()\nend")
    for setting in session.about["settings"]:
        gdb.execute(setting, to_string=True)


set_up()
