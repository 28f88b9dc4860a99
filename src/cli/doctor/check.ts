import type { Examination } from './examination.ts';

/** What a check has found. `skipped`: it does not concern this installation, or something that it needs has failed. */
export type CheckStatus = 'ok' | 'warn' | 'fail' | 'skipped';

/** A change that `--fix` makes: named, and one that can be undone. */
export interface Fix {
  /** What it has done, in one sentence. */
  done: string;
  /** The command that undoes it. */
  undo: string;
  apply(): Promise<void>;
}

/** The result of a check: one sentence, and the one command that helps. */
export interface Finding {
  status: CheckStatus;
  summary: string;
  command?: string;
  fix?: Fix;
}

/** One thing that is checked, by the name that reports and tests use. */
interface Check {
  name: string;
  run: (examination: Examination) => Promise<Finding> | Finding;
}

/** Checks under one heading. */
export interface CheckGroup {
  heading: string;
  checks: readonly Check[];
}

export function ok(summary: string): Finding {
  return { status: 'ok', summary };
}

export function skipped(summary: string): Finding {
  return { status: 'skipped', summary };
}

export function warn(summary: string, command?: string, fix?: Fix): Finding {
  return finding('warn', summary, command, fix);
}

export function fail(summary: string, command?: string, fix?: Fix): Finding {
  return finding('fail', summary, command, fix);
}

function finding(status: CheckStatus, summary: string, command: string | undefined, fix: Fix | undefined): Finding {
  return { status, summary, ...(command === undefined ? {} : { command }), ...(fix === undefined ? {} : { fix }) };
}
