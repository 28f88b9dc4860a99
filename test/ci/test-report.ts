import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';

/** The environment variable with the path of the file that `TestReporter` writes. */
export const REPORT_PATH = 'LONGHAUL_TEST_REPORT';

/** What became of one file of tests. */
export interface FileReport {
  /** Its absolute path. */
  path: string;
  hasPassed: boolean;
  passed: number;
  failed: number;
  /** The names of the tests that were skipped. */
  skipped: string[];
  /** The first line of each failure, with the name of its test. */
  failures: string[];
  seconds: number;
}

/** What became of a run of vitest. */
export interface TestReport {
  files: FileReport[];
  /** Errors outside of any test whose file is not known. */
  errors: string[];
}

/** A reporter that writes what `npm run ci` has to know to a file. */
export class TestReporter implements Reporter {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const fileOf = ({ VITEST_TEST_PATH: path }: SerializedError): unknown => path;
    const report: TestReport = {
      files: modules.map((module) =>
        fileReport(
          module,
          unhandled.filter((error) => fileOf(error) === module.moduleId),
        ),
      ),
      errors: unhandled
        .filter((error) => modules.every(({ moduleId }) => fileOf(error) !== moduleId))
        .map(({ message }) => firstLine(message)),
    };
    writeFileSync(this.#path, JSON.stringify(report));
  }
}

function fileReport(module: TestModule, unhandled: readonly SerializedError[]): FileReport {
  const tests = [...module.children.allTests()];
  const inState = (state: 'passed' | 'failed' | 'skipped'): TestCase[] => tests.filter((one) => one.result().state === state);
  const failures = [
    ...inState('failed').map((one) => `${one.fullName}: ${firstLine(one.result().errors?.[0]?.message)}`),
    ...[...module.children.allSuites()].flatMap((suite) => suite.errors().map(({ message }) => `${suite.fullName}: ${firstLine(message)}`)),
    ...module.errors().map(({ message }) => firstLine(message)),
    ...unhandled.map(({ message }) => `outside of any test: ${firstLine(message)}`),
  ];
  const state = module.state();
  const hasEnded = state === 'passed' || state === 'skipped' || state === 'failed';
  if (!hasEnded) failures.push('it did not come to its end');
  return {
    path: module.moduleId,
    hasPassed: failures.length === 0 && state !== 'failed',
    passed: inState('passed').length,
    failed: inState('failed').length,
    skipped: inState('skipped').map(({ fullName }) => fullName),
    failures,
    seconds: Math.round(module.diagnostic().duration / 100) / 10,
  };
}

function firstLine(message: string | undefined): string {
  return String(message).split('\n')[0] ?? '';
}
