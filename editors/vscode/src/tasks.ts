// Tasks: a recorded program is recorded again, and the recorded runs are explained as a compiler writes its messages.
import * as path from 'node:path';
import * as vscode from 'vscode';
import { quoted } from './run';
import { type Server, binary } from './server';

const TYPE = 'unsnarl';

/** What a task has in tasks.json. */
interface Definition extends vscode.TaskDefinition {
  command: 'record' | 'explain';
  program?: string[];
  directory?: string;
}

export function tasks(server: Server): vscode.Disposable {
  return vscode.tasks.registerTaskProvider(TYPE, {
    provideTasks: () => provide(server),
    resolveTask: (given) => task(given.definition as Definition, given.scope),
  });
}

async function provide(server: Server): Promise<vscode.Task[]> {
  if (!vscode.workspace.isTrusted) {
    return [];
  }
  const { explanations } = await server.explanations();
  const recorded = explanations.filter((one) => one.command.length > 0);
  const records = recorded.map((one): Definition => ({ type: TYPE, command: 'record', program: one.command, directory: one.directory }));
  const different = new Map(records.map((definition) => [JSON.stringify(definition), definition]));
  const all = [...different.values(), { type: TYPE, command: 'explain' } satisfies Definition];
  return all.map((definition) => task(definition, vscode.TaskScope.Workspace)).filter((one) => one !== undefined);
}

function task(definition: Definition, scope: vscode.WorkspaceFolder | vscode.TaskScope | undefined): vscode.Task | undefined {
  const program = definition.program ?? [];
  if (definition.command === 'record' && program.length === 0) {
    return undefined;
  }
  const [words, name, matchers] =
    definition.command === 'record'
      ? [`record --until-failing 3 -- ${program.map(quoted).join(' ')}`, `record ${path.basename(program[0] ?? '')}`, []]
      : ['explain --format lines', 'explain', ['$unsnarl']];
  const options = definition.directory === undefined ? {} : { cwd: definition.directory };
  const line = `${quoted(binary())} ${words}`;
  const execution = matchers.length > 0 ? lingering(line, options) : new vscode.ShellExecution(line, options);
  return new vscode.Task(definition, scope ?? vscode.TaskScope.Workspace, name, TYPE, execution, matchers);
}

/**
 * A command whose lines are read for problems. The editor stops reading soon after the process has ended, which on a busy
 * machine is before the last lines have come to it: the process stays two seconds longer, which suffice beside two busy
 * loops on two cores.
 */
function lingering(line: string, options: vscode.ProcessExecutionOptions): vscode.ProcessExecution {
  return new vscode.ProcessExecution('/bin/sh', ['-c', `${line}; status=$?; sleep 2; exit $status`], options);
}
