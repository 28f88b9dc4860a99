import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { Outcome } from './outcome.ts';
import { type CommandOptions, runCommand } from './run-command.ts';
import { type FileReport, REPORT_PATH, type TestReport } from './test-report.ts';

/** The maximum number of failed files that are rerun: more failures are not an accident. */
const MOST_REPEATED = 8;

/** The end of one run of vitest. */
interface TestRun {
  code: number;
  /** Missing if vitest did not come to its end. */
  report?: TestReport;
}

/**
 * Runs a command that ends with the options of vitest. Each file that fails is rerun alone: it has failed if it fails again, and is
 * reported as unstable otherwise.
 */
export async function runTests(command: readonly string[], options: CommandOptions): Promise<Outcome> {
  const { code, report } = await runOnce(command, options);
  if (report === undefined)
    return { passed: 0, failed: 1, skipped: [], failures: [`vitest wrote no report: exit code ${code}`], unstable: [] };
  const failed = report.files.filter(({ hasPassed }) => !hasPassed);
  const repeated = new Map<string, FileReport>();
  if (failed.length <= MOST_REPEATED) {
    for (const { path } of failed) {
      options.print(`── once more, alone: ${relative(options.cwd, path)}\n`);
      repeated.set(path, await repeatedFile(command, path, options));
    }
  }
  const last = report.files.map((file) => repeated.get(file.path) ?? file);
  const isUnstable = ({ path }: FileReport): boolean => repeated.get(path)?.hasPassed ?? false;
  const named = (file: FileReport): string[] => file.failures.map((failure) => `${relative(options.cwd, file.path)}: ${failure}`);
  // A process that ended early leaves an error without a file, and files without an end, which were rerun.
  const isExplained = failed.length > 0 && failed.every(isUnstable);
  const errors = isExplained ? [] : report.errors;
  const withoutReason = code !== 0 && failed.length === 0 && errors.length === 0 ? [`exit code ${code}, although no test failed`] : [];
  return {
    passed: last.reduce((sum, file) => sum + file.passed, 0),
    failed: last.reduce((sum, file) => sum + (file.hasPassed ? 0 : Math.max(1, file.failed)), 0) + errors.length + withoutReason.length,
    skipped: last.flatMap((file) => file.skipped.map((name) => `${relative(options.cwd, file.path)}: ${name}`)),
    failures: [...last.filter(({ hasPassed }) => !hasPassed).flatMap(named), ...errors, ...withoutReason],
    unstable: [...failed.filter(isUnstable).flatMap(named), ...(isExplained ? report.errors : [])],
  };
}

async function repeatedFile(command: readonly string[], path: string, options: CommandOptions): Promise<FileReport> {
  const { code, report } = await runOnce([...command, path], options);
  const file = report?.files.find((one) => one.path === path);
  const base = { path, passed: 0, failed: 0, skipped: [], seconds: 0 };
  if (file === undefined) return { ...base, hasPassed: false, failures: [`no report of its second run: exit code ${code}`] };
  if (code === 0 || !file.hasPassed) return file;
  return { ...file, hasPassed: false, failures: [`its second run ended with exit code ${code}`, ...(report?.errors ?? [])] };
}

async function runOnce(command: readonly string[], options: CommandOptions): Promise<TestRun> {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-ci-'));
  const path = join(folder, 'report.json');
  try {
    const { code } = await runCommand(command, { ...options, env: { ...options.env, [REPORT_PATH]: path } });
    return existsSync(path) ? { code, report: JSON.parse(readFileSync(path, 'utf8')) as TestReport } : { code };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
