import { findSuite, hasPrograms } from './adapters/index.ts';
import { BadDirectory, type CaseFile, readCaseFiles } from './case-file.ts';
import { closingLine, failureReport, type Replayed, replayFile, skipReport } from './replay.ts';

/** Cases at the same time: one in Python waits for the start of its process longer than anything computes. */
const AT_ONCE = { javascript: 1, python: 3 };

/**
 * Replays every case file of a directory against the real code: `npm run spec -- <directory>`, with programs in JavaScript. With `--python`,
 * replays the files that have programs, in Python.
 * Exit code 0: nothing failed; 1: cases failed; 2: the directory cannot be replayed.
 */
async function main(args: readonly string[]): Promise<number> {
  const language = args.includes('--python') ? 'python' : 'javascript';
  const directory = args.find((arg) => arg !== '--python');
  if (directory === undefined) throw new BadDirectory('Usage: npm run spec -- <directory of case files> [--python]');
  const replayed: Replayed[] = [];
  const broken: (CaseFile & { type: 'broken' })[] = [];
  for (const file of readCaseFiles(directory)) {
    if (file.type === 'broken') broken.push(file);
    else if (language === 'javascript' || hasPrograms(file.suite))
      replayed.push(...(await replayFile(file, (suite) => findSuite(suite, language), { atOnce: AT_ONCE[language] })));
  }
  const lines = [
    ...broken.map(({ path, problem }) => `FAILED ${path}: ${problem}`),
    ...replayed.flatMap(failureReport),
    ...skipReport(replayed),
    closingLine(replayed, broken.length),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  return broken.length > 0 || replayed.some(({ verdict }) => verdict.type === 'failed') ? 1 : 0;
}

// Many cases are about failing tools.
process.env['LONGHAUL_LOG_LEVEL'] ??= 'OFF';
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof BadDirectory)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
