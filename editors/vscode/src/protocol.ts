// The requests of docs/lsp-extensions.md, as far as they are used here.
import { type Location, type Position, type TextDocumentIdentifier } from 'vscode-languageclient/node';

export interface Place {
  file: string;
  line: number;
  function: string;
  text: string;
}

export interface Step {
  thread: string;
  place: Place;
  access: string;
  location: string;
  effect: string;
  note: string;
}

export interface Fix {
  /** As `unsnarl verify ID:NUMBER` takes it; it is its place, from 1, where the server names none. */
  number?: number;
  title: string;
  cost: string;
}

export interface Explanation {
  id: string;
  kind: string;
  headline: string;
  detail: string;
  remark: string;
  contrast: string;
  certainty: 'confirmed' | 'likely' | 'possible';
  runs: string[];
  run: string;
  failure: { site: Place | null; message: string };
  steps: Step[];
  fixes?: Fix[];
  not_fixed?: string[];
  executed: { verdict: string; reason: string; next: string } | null;
  confirmed: { fails: number; of_fails: number; passes: number; of_passes: number } | null;
  text: string;
  /** Program and arguments of the failing run; empty when it cannot be read. */
  command: string[];
  /** The folder that it ran in. */
  directory: string;
  /** The folder with `.unsnarl`, where commands about its runs belong. */
  folder: string;
  /** Name of that folder, if the workspace has runs of several. */
  label: string | null;
  /** Names of its files that were not found. */
  notFound: string[];
  stepLocations: (Location | null)[];
  failureLocation: Location | null;
}

export interface Explanations {
  explanations: Explanation[];
  selected: string | null;
}

/** A step as a run took it; steps are named by their number in the explanation, from 1. */
export interface Taken {
  number: number;
  lane: number;
  place: Place;
  now: Location | null;
  variable: string;
  effect: string;
  note: string;
}

export interface Order {
  run: string;
  end: string;
  steps: Taken[];
  arrows: [number, number][];
}

export interface Seen {
  step: number;
  value: string;
  writes: boolean;
}

export interface Schedule {
  explanation: string;
  headline: string;
  lanes: { thread: string; name: string }[];
  failing: Order;
  passing: Order | null;
  reason: string | null;
  missing: number[];
  turned: { from: number; to: number; kind: 'data' | 'lock' | 'order'; text: string }[];
  added: { step: number; text: string }[];
  values: { variable: string; failing: Seen[]; passing: Seen[] }[];
}

export interface Status {
  health: 'ok' | 'warning';
  quiescent: boolean;
  message: string;
  explanations: number;
}

export interface Jump {
  explanation: string;
  kind: 'next' | 'previous' | 'failing' | 'passing' | 'flow' | 'waits-for';
  title: string;
  location: Location;
}

export interface JumpParams {
  textDocument: TextDocumentIdentifier;
  position: Position;
}
