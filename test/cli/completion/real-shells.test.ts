import { expect, test } from 'vitest';
import { missingShell, type ShellName, SHELLS, ShellTerminal } from './shell-terminal.ts';

const CASES = (Object.keys(SHELLS) as ShellName[]).map((name) => ({ name, missing: missingShell(name) }));

for (const { name, missing } of CASES) {
  const title = missing === undefined ? name : `${name} (skipped: ${missing})`;
  test.skipIf(missing !== undefined)(
    `${title} completes commands, options and files, and stays silent without a server`,
    async () => {
      await using shell = new ShellTerminal(name);
      shell.type(`${SHELLS[name].load}; echo loa''ded\n`);
      await shell.shows('loaded');
      shell.type('longhaul complet\t');
      await shell.shows('longhaul completion');
      shell.type('\u0015longhaul list --stat\t');
      await shell.shows('--status');
      shell.type('run\t');
      await shell.shows('running');
      shell.type('\u0015longhaul start x --tier=b\t');
      await shell.shows('--tier=batch');
      shell.type('\u0015longhaul worker --agents agents-of\t');
      await shell.shows('agents-of-mine.ts');
      // No server: no candidate, no line at the prompt.
      shell.type('\u0015longhaul show \t\t');
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      shell.type("\u0015echo do''ne\n");
      await shell.shows('done');
      expect(shell.screen).not.toMatch(/error|rror:|longhaul: /i);
    },
    90_000,
  );
}
