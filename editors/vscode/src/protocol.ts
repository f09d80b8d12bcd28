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

export interface Explanation {
  id: string;
  kind: string;
  headline: string;
  detail: string;
  remark: string;
  contrast: string;
  certainty: 'confirmed' | 'likely' | 'possible';
  runs: string[];
  failure: { site: Place | null; message: string };
  steps: Step[];
  sites: { thread: string }[];
  confirmed: { fails: number; of_fails: number; passes: number; of_passes: number } | null;
  text: string;
  stepLocations: (Location | null)[];
  failureLocation: Location | null;
}

export interface Explanations {
  explanations: Explanation[];
  selected: string | null;
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
