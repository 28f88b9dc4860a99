import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { executableName, findOnPath } from './find-on-path.ts';
import { reportProgress } from './progress.ts';
import { runProcess } from './run-process.ts';
import type { ProvisionContext } from './sdk-download.ts';

/** The newest version of the CLI that Go can install: later versions replace a module that no module proxy serves. */
const CLI_PACKAGE = 'github.com/temporalio/cli/cmd/temporal@v1.5.1';

/**
 * Builds the Temporal CLI from source with Go, in a directory, and returns the path of the executable. Throws an
 * error with the reason as its message if Go is missing or the build fails, and the signal's reason on abort.
 */
export async function buildWithGo(directory: string, context: ProvisionContext): Promise<string> {
  const go = await findOnPath('go', context.env);
  if (go === undefined) throw new Error('no `go` on the PATH');
  const work = join(directory, 'work');
  await mkdir(work);
  context.say(`building the Temporal CLI with "go install ${CLI_PACKAGE}": a first build takes 2 to 4 minutes, later starts use the cache`);
  const counts = { modules: 0, packages: 0 };
  const progress = reportProgress(
    context.say,
    (seconds) => `building the Temporal CLI: ${counts.modules} modules downloaded, ${counts.packages} packages compiled, ${seconds} s`,
  );
  try {
    const { code, output } = await runProcess(
      {
        file: go,
        args: ['install', '-v', CLI_PACKAGE],
        env: { ...context.env, GOBIN: directory, GOTMPDIR: work, GOFLAGS: '-buildvcs=false', GOOS: '', GOARCH: '' },
        cwd: directory,
        unfinished: directory,
        onOutput: lineCounter(counts),
      },
      { signal: context.signal },
    );
    if (code !== 0) throw new Error(`go install failed: ${output.trim().split('\n').slice(-3).join(' · ') || `exit code ${code}`}`);
  } finally {
    progress.stop();
  }
  return join(directory, executableName('temporal'));
}

// With -v, Go prints a line for each module it downloads and one for each package it compiles.
function lineCounter(counts: { modules: number; packages: number }): (text: string) => void {
  let rest = '';
  return (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('go: downloading ')) counts.modules += 1;
      else if (!line.startsWith('go: ')) counts.packages += 1;
    }
  };
}
