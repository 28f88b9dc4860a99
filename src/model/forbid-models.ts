import { ModelCallError } from '../core/domain/errors.ts';

/** The environment variable that forbids real models to a whole process and its child processes. */
const FORBIDDEN_VARIABLE = 'LONGHAUL_FORBID_REAL_MODELS';

/** Exceptions from forbidding real models. */
export interface ForbidOptions {
  /**
   * Hosts that are still allowed, with their port if it matters, such as `127.0.0.1:4010` for a fake provider in a
   * test.
   */
  except?: readonly string[];
}

/** A registered symbol, so that all copies of this module in a process share the setting. */
const FORBIDDEN: unique symbol = Symbol.for('longhaul.forbidden_real_models');

interface ForbiddenModels {
  [FORBIDDEN]?: readonly string[] | undefined;
}

const ofProcess = globalThis as ForbiddenModels;

/**
 * Makes every later request to a real model in this process fail before anything is sent. Returns a function that
 * undoes this. The same setting for a whole environment is `LONGHAUL_FORBID_REAL_MODELS=1`.
 */
export function forbidRealModels({ except = [] }: ForbidOptions = {}): () => void {
  const before = ofProcess[FORBIDDEN];
  ofProcess[FORBIDDEN] = except;
  return () => {
    ofProcess[FORBIDDEN] = before;
  };
}

/**
 * Throws a ModelCallError, which is not retried, if requests to real models are forbidden. `host` includes the port,
 * if there is one.
 */
export function requireRealModelsAllowed(model: string, host: string): void {
  const except = ofProcess[FORBIDDEN] ?? (isForbiddenByEnvironment() ? [] : undefined);
  if (except === undefined || except.some((one) => one === host || one === host.replace(/:\d+$/, ''))) return;
  throw new ModelCallError(
    'model_forbidden',
    `Model "${model}" at "${host}" was not called: requests to real models are forbidden here (forbidRealModels(), or ${FORBIDDEN_VARIABLE}). Give the run a scripted model, or list the host in "except"`,
  );
}

function isForbiddenByEnvironment(): boolean {
  const value = process.env[FORBIDDEN_VARIABLE] ?? '';
  return value !== '' && value !== '0' && value !== 'false';
}
