import { createInterface } from 'node:readline/promises';
import { counted, printableLine } from '../../core/domain/text.ts';
import { installedVersion } from '../../temporal/installed-sdk.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import type { DOCTOR } from '../doctor-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { type Look, type Output, padToWidth } from '../output.ts';
import { type Terminal, untilInterrupted } from '../terminal.ts';
import type { CheckStatus } from './check.ts';
import type { Machine } from './examination.ts';
import { type CheckReport, type DoctorReport, examine } from './report.ts';

/** Examines the installation, and prints what it finds. Returns 1 if a check has failed. */
export async function doctor({ terminal, output }: CommandIo, flags: FlagsOf<typeof DOCTOR>): Promise<number> {
  const { fix = false, ...rest } = flags;
  const longhaul = installedVersion('longhaul') ?? '';
  const report = await untilInterrupted(terminal.signal, examine(thisMachine(terminal), rest, { fix, longhaul }));
  if (output.json) output.printJson(report);
  else for (const line of reportLines(report, output)) output.print(line);
  return report.ok ? EXIT_CODES.ok.code : EXIT_CODES.unexpected.code;
}

/** The ports of the server, its UI, the HTTP service and the codec server. */
const DEV_PORTS = [7233, 8233, 8787, 8234];

function thisMachine(terminal: Terminal): Machine {
  return {
    env: terminal.env,
    folder: process.cwd(),
    nodeVersion: process.versions.node,
    loadsTypeScript: process.features.typescript !== false,
    ports: DEV_PORTS,
    ask: asking(terminal),
  };
}

/** Returns the way to ask a person; undefined where nobody types. Anything but "y" or "yes" is a no. */
function asking({ interactive, signal }: Terminal): Machine['ask'] {
  if (interactive === undefined) return undefined;
  return async (question) => {
    const reader = createInterface({ input: interactive.input, output: interactive.output });
    try {
      return /^y(?:es)?$/i.test((await reader.question(question, { signal })).trim());
    } finally {
      reader.close();
    }
  };
}

const LOOKS: Readonly<Record<CheckStatus, Look>> = { ok: 'green', warn: 'yellow', fail: 'red', skipped: 'dim' };

function* reportLines({ checks, fixed, longhaul, node, platform }: DoctorReport, output: Output): Generator<string> {
  yield output.look('bold', `Longhaul ${longhaul} on Node ${node}, ${platform}`);
  const width = Math.max(...checks.map(({ name }) => name.length));
  let group = '';
  for (const check of checks) {
    if (check.group !== group) yield `\n${output.look('bold', check.group)}`;
    group = check.group;
    yield* checkLines(check, width, output);
  }
  if (fixed.length > 0) yield `\n${output.look('bold', 'Repaired')}`;
  for (const { done, undo } of fixed) yield* [`  ${printableLine(done)}`, `  undo: ${printableLine(undo)}`];
  yield `\n${summaryOf(checks)}`;
}

function* checkLines({ name, status, summary, command }: CheckReport, width: number, output: Output): Generator<string> {
  yield `  ${output.look(LOOKS[status], padToWidth(status, 'skipped'.length))}  ${padToWidth(name, width)}  ${printableLine(summary)}`;
  if (command !== undefined)
    yield `${' '.repeat(width + 13)}${output.look('cyan', printableLine(command.replace(/^longhaul /, `${output.program} `)))}`;
}

function summaryOf(checks: readonly CheckReport[]): string {
  const count = (status: CheckStatus): number => checks.filter((check) => check.status === status).length;
  return `${count('ok')} ok, ${counted(count('warn'), 'warning')}, ${count('fail')} failed, ${count('skipped')} skipped`;
}
