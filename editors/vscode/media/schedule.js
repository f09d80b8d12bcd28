// Draws two orders side by side, from what the extension sends. Clicks and Enter go to the extension, the cursor's line
// comes from it. Up and down go from step to step, left and right to the same step of the other order.
(() => {
  const vscode = acquireVsCodeApi();
  const view = document.getElementById('view');
  /** Least width of a lane. */
  const LANE = 140;
  const SVG = 'http://www.w3.org/2000/svg';

  /** An element with its children: elements, or texts in which backticks hold code. */
  function make(tag, classes, ...children) {
    const element = document.createElement(tag);
    element.className = classes;
    element.append(...children.flatMap((child) => (typeof child === 'string' ? prose(child) : [child])));
    return element;
  }

  function prose(text) {
    return text.split('`').map((part, at) => {
      if (at % 2 === 0) {
        return part;
      }
      const code = document.createElement('code');
      code.textContent = part;
      return code;
    });
  }

  const plain = (text) => {
    const code = document.createElement('code');
    code.textContent = text;
    return code;
  };
  const fileOf = (place) => `${place.file.split(/[/\\]/).at(-1)}:${place.line}`;

  /** One order: a lane for each thread, time downwards. */
  function board(schedule, order, passes) {
    const figure = make('figure', `board ${passes ? 'passes' : 'fails'}`);
    const caption = make('figcaption', '', passes ? 'An order that passes' : 'The order that fails', make('span', 'run', order.run));
    const grid = make('div', 'grid');
    grid.setAttribute('role', 'group');
    grid.setAttribute('aria-label', caption.firstChild.textContent);
    grid.style.setProperty('--lanes', String(schedule.lanes.length));
    schedule.lanes.forEach((lane, at) => {
      const head = make('div', 'head', lane.name);
      head.title = lane.name;
      put(head, at + 2, 1);
      const rail = make('div', 'rail');
      put(rail, at + 2, 2);
      rail.style.gridRowEnd = `span ${Math.max(order.steps.length, 1)}`;
      grid.append(head, rail);
    });
    order.steps.forEach((step, row) => {
      const number = make('div', 'number', String(step.number));
      put(number, 1, row + 2);
      const button = card(schedule, step, passes, row === order.steps.length - 1);
      put(button, step.lane + 2, row + 2);
      grid.append(number, button);
    });
    const lines = document.createElementNS(SVG, 'svg');
    lines.setAttribute('aria-hidden', 'true');
    grid.append(lines);
    figure.append(caption, grid, make('p', 'end', passes ? 'Passes.' : order.end));
    figure.arrows = arrows(schedule, order);
    figure.lanes = schedule.lanes.length;
    return figure;
  }

  function put(element, column, row) {
    element.style.setProperty('--column', String(column));
    element.style.gridRow = String(row);
  }

  function card(schedule, step, passes, isLast) {
    const turned = schedule.turned.some(({ from, to }) => [from, to].includes(step.number)) || schedule.added.some((one) => one.step === step.number) || schedule.missing.includes(step.number);
    const classes = ['step', turned && 'turned', !passes && step.note && 'noted', !passes && isLast && 'last'];
    const button = make('button', classes.filter(Boolean).join(' '));
    const text = make('span', 'text', plain(step.place.text));
    const who = make('span', 'who', schedule.lanes[step.lane]?.thread ?? '');
    button.append(text, who, make('span', 'effect', step.effect), make('span', 'place', fileOf(step.place)));
    if (step.note) {
      button.append(make('strong', 'note', step.note));
    }
    button.dataset.step = String(step.number);
    button.dataset.passing = String(passes);
    const said = `step ${step.number}: ${schedule.lanes[step.lane]?.name} ${step.effect}. ${step.place.text}`;
    button.title = step.now === null ? 'The line has changed since the run.' : step.place.text;
    button.setAttribute('aria-label', said);
    button.setAttribute('aria-disabled', String(step.now === null));
    button.tabIndex = -1;
    return button;
  }

  /** Pairs of steps to connect; those that the other order has the other way round are lit. */
  function arrows(schedule, order) {
    const place = new Map(order.steps.map((step, at) => [step.number, at]));
    const isTurned = (a, b) => schedule.turned.some(({ from, to }) => (from === a && to === b) || (from === b && to === a));
    const pairs = order.arrows.map(([from, to]) => ({ from, to, turned: isTurned(from, to) }));
    for (const { from, to } of schedule.turned) {
      const [a, b] = place.get(from) <= place.get(to) ? [from, to] : [to, from];
      if (!pairs.some((pair) => pair.from === a && pair.to === b)) {
        pairs.push({ from: a, to: b, turned: true });
      }
    }
    return pairs;
  }

  /** Draws the arrows where the cards are now. */
  function connect(figure) {
    const grid = figure.querySelector('.grid');
    const lines = grid.querySelector('svg');
    const origin = grid.getBoundingClientRect();
    // Without room for lanes beside each other they overlap, and each card says whose it is.
    figure.classList.toggle('compact', origin.width < figure.lanes * LANE);
    lines.replaceChildren();
    for (const { from, to, turned } of figure.arrows) {
      const ends = [from, to].map((number) => grid.querySelector(`button[data-step="${number}"]`)?.getBoundingClientRect());
      if (ends.includes(undefined)) {
        continue;
      }
      const group = document.createElementNS(SVG, 'g');
      group.classList.add('arrow', ...(turned ? ['turned'] : []));
      group.dataset.pair = `${Math.min(from, to)}-${Math.max(from, to)}`;
      for (const d of arrow(...ends, origin)) {
        const path = document.createElementNS(SVG, 'path');
        path.setAttribute('d', d);
        group.append(path);
      }
      lines.append(group);
    }
  }

  /** A bend from side to side, and its head; where cards overlap, along their left sides. */
  function arrow(from, to, origin) {
    if (from.left < to.right && to.left < from.right) {
      return bracket(from, to, origin);
    }
    const right = to.left > from.left;
    const x1 = (right ? from.right : from.left) - origin.left;
    const x2 = (right ? to.left : to.right) - origin.left;
    const y1 = from.top + from.height * 0.7 - origin.top;
    const y2 = to.top + to.height * 0.3 - origin.top;
    const by = (right ? 1 : -1) * Math.max(14, Math.abs(x2 - x1) / 2);
    const back = right ? -6 : 6;
    return [`M${x1} ${y1}C${x1 + by} ${y1} ${x2 - by + back} ${y2} ${x2 + back} ${y2}`, `M${x2} ${y2}l${back} -4v8z`];
  }

  function bracket(from, to, origin) {
    const [x1, x2] = [from.left - origin.left, to.left - origin.left];
    const [y1, y2] = [from.top + from.height * 0.7 - origin.top, to.top + to.height * 0.3 - origin.top];
    const x = Math.min(x1, x2) - 12;
    return [`M${x1} ${y1}C${x} ${y1} ${x} ${y2} ${x2 - 6} ${y2}`, `M${x2} ${y2}l-6 -4v8z`];
  }

  /** What each variable was, step by step; a value stands until another is seen. */
  function timeline(schedule, order, passes) {
    const rows = schedule.values.map((values) => {
      const seen = new Map((passes ? values.passing : values.failing).map((one) => [one.step, one]));
      const other = new Map((passes ? values.failing : values.passing).map((one) => [one.step, one.value]));
      const cells = [];
      let last;
      for (const step of order.steps) {
        const one = seen.get(step.number);
        if (one === undefined && last !== undefined) {
          last.colSpan += 1;
          continue;
        }
        const differs = one !== undefined && other.has(step.number) && other.get(step.number) !== one.value;
        last = make('td', one === undefined ? '' : `${one.writes ? 'writes' : 'reads'}${differs ? ' differs' : ''}`, one?.value ?? '');
        cells.push(last);
        last = one === undefined ? undefined : last;
      }
      const head = make('th', '', plain(values.variable));
      head.title = values.variable;
      head.scope = 'row';
      return make('tr', '', head, ...cells);
    });
    const numbers = order.steps.map((step) => make('th', '', String(step.number)));
    const table = make('table', 'values', make('thead', '', make('tr', '', make('th', '', 'step'), ...numbers)), make('tbody', '', ...rows));
    table.setAttribute('aria-label', 'Values, step by step');
    return table;
  }

  function side(schedule, order, passes) {
    const figure = board(schedule, order, passes);
    if (schedule.values.length > 0) {
      figure.append(timeline(schedule, order, passes));
    }
    return figure;
  }

  function draw({ schedule, story }) {
    const focused = document.activeElement?.dataset?.step;
    const wasPassing = document.activeElement?.dataset?.passing;
    if (!schedule || !story) {
      view.replaceChildren(make('p', '', 'This failure is gone: no run shows it any more.'));
      return;
    }
    const boards = make('div', 'boards', side(schedule, schedule.failing, false));
    boards.append(schedule.passing ? side(schedule, schedule.passing, true) : make('p', 'reason', `No order that passes to compare with: ${schedule.reason}.`));
    view.replaceChildren(make('h1', '', story.headline), make('p', 'failure', story.failure), make('p', 'detail', story.detail), boards);
    view.append(...differences(schedule), ...story.lines.map((line) => make('p', '', line)), ...fixes(story));
    const steps = [...view.querySelectorAll('button.step')];
    for (const button of steps) {
      button.addEventListener('focus', () => choose(button));
    }
    for (const figure of view.querySelectorAll('figure')) {
      figure.querySelector('button.step')?.setAttribute('tabindex', '0');
      observer.observe(figure);
    }
    steps.find((step) => step.dataset.step === focused && step.dataset.passing === wasPassing)?.focus();
    connectAll();
  }

  /** What differs, in sentences; pointing at one lights its arrows. */
  function differences(schedule) {
    const missing = schedule.missing.length > 0 ? [make('p', '', `Steps that the passing run does not take: ${schedule.missing.join(', ')}.`)] : [];
    const added = schedule.added.map(({ text }) => make('p', '', text));
    if (schedule.turned.length === 0) {
      return [...added, ...missing];
    }
    const items = schedule.turned.map(({ from, to, text }) => {
      const item = make('li', 'difference', text);
      const light = (on) => {
        for (const group of view.querySelectorAll(`g[data-pair="${Math.min(from, to)}-${Math.max(from, to)}"]`)) {
          group.classList.toggle('lit', on);
        }
      };
      item.addEventListener('mouseenter', () => light(true));
      item.addEventListener('mouseleave', () => light(false));
      return item;
    });
    return [make('ul', 'differences', ...items), ...added, ...missing];
  }

  function fixes(story) {
    if (story.fixes.length === 0) {
      return [];
    }
    const lines = story.fixes.map((title) => make('li', '', title));
    const parts = [make('h2', '', story.fixes.length === 1 ? 'Fix' : 'Fixes'), make('ul', 'fixes', ...lines)];
    parts.push(action('Apply the fix', 'applyFix'));
    if (story.trusted) {
      parts.push(action('Verify the fix', 'verify'));
    }
    return parts;
  }

  /** A button that runs a command of the extension. */
  function action(title, run) {
    const button = make('button', 'action', title);
    button.addEventListener('click', () => vscode.postMessage({ run }));
    return button;
  }

  const connectAll = () => view.querySelectorAll('figure').forEach(connect);
  const observer = new ResizeObserver(connectAll);

  /** The step that the Tab key comes back to, lit in both orders. */
  function choose(button) {
    for (const other of view.querySelectorAll('button.step')) {
      other.classList.toggle('twin', other !== button && other.dataset.step === button.dataset.step);
      if (other.dataset.passing === button.dataset.passing) {
        other.tabIndex = other === button ? 0 : -1;
      }
    }
  }

  view.addEventListener('click', (event) => {
    const button = event.target.closest('button.step');
    if (button !== null) {
      vscode.postMessage({ step: Number(button.dataset.step), passing: button.dataset.passing === 'true' });
    }
  });

  const KEYS = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
  document.addEventListener('keydown', (event) => {
    const all = [...view.querySelectorAll('button.step')];
    const now = document.activeElement?.closest('button.step') ?? null;
    const passing = now?.dataset.passing ?? 'false';
    const own = all.filter((step) => step.dataset.passing === passing);
    let next;
    if (event.key in KEYS) {
      const at = own.indexOf(now) + KEYS[event.key];
      next = now === null ? own[0] : own[Math.min(Math.max(at, 0), own.length - 1)];
    } else if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
      const wanted = String(event.key === 'ArrowRight');
      next = all.find((step) => step.dataset.passing === wanted && step.dataset.step === (now?.dataset.step ?? '1'));
    }
    if (next !== undefined) {
      next.focus();
      event.preventDefault();
    }
  });

  window.addEventListener('message', ({ data }) => {
    if ('schedule' in data) {
      draw(data);
    }
    if ('here' in data) {
      for (const button of view.querySelectorAll('button.step')) {
        const isHere = data.here.includes(Number(button.dataset.step));
        button.classList.toggle('here', isHere);
        if (isHere) {
          button.scrollIntoView({ block: 'nearest' });
        }
      }
    }
  });
  vscode.postMessage({ ready: true });
})();
