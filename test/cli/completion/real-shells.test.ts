import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MAIN, missingShell, type ShellName, SHELLS, ShellTerminal } from './shell-terminal.ts';

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

const hasPowerShell = spawnSync('pwsh', ['-Version']).status === 0;

test.skipIf(!hasPowerShell)(
  `powershell${hasPowerShell ? '' : ' (skipped: pwsh is not installed)'} completes commands and options`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'longhaul-pwsh-'));
    try {
      writeFileSync(join(folder, 'longhaul'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, { mode: 0o755 });
      // What the Tab key calls.
      const completed = (line: string): string =>
        `(TabExpansion2 '${line}' ${line.length}).CompletionMatches | ForEach-Object { $_.CompletionText }`;
      const script = [
        'longhaul completion powershell | Out-String | Invoke-Expression',
        completed('longhaul complet'),
        completed('longhaul list --stat'),
      ].join('; ');
      const { stdout } = spawnSync('pwsh', ['-NoProfile', '-Command', script], {
        encoding: 'utf8',
        env: { ...process.env, PATH: `${folder}:${process.env['PATH']}`, TEMPORAL_ADDRESS: '127.0.0.1:9' },
      });
      expect(stdout.trim().split(/\r?\n/)).toEqual(['completion', '--status']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  90_000,
);
