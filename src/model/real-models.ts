import { ModelCallError } from '../core/domain/errors/error.ts';

/** The environment variable that forbids real models to a whole process, and to those that it starts. */
export const FORBIDDEN_VARIABLE = 'LONGHAUL_FORBID_REAL_MODELS';

/** Which real models are allowed all the same. */
export interface ForbidOptions {
  /** Hosts, with their port where it matters: of a fake provider that a test has started, such as `127.0.0.1:4010`. */
  except?: readonly string[];
}

/** Under a name that every copy of this module in a process shares. */
const FORBIDDEN: unique symbol = Symbol.for('longhaul.forbidden_real_models');

interface Shared {
  [FORBIDDEN]?: readonly string[] | undefined;
}

const shared = globalThis as Shared;

/**
 * From now on every request to a real model fails in this process, before anything is sent. Returns what takes it back.
 * In the environment it is `LONGHAUL_FORBID_REAL_MODELS=1`.
 */
export function forbidRealModels({ except = [] }: ForbidOptions = {}): () => void {
  const before = shared[FORBIDDEN];
  shared[FORBIDDEN] = except;
  return () => {
    shared[FORBIDDEN] = before;
  };
}

/** Throws a ModelCallError, which is not tried again, where requests to real models are forbidden. `host` has the port, where there is one. */
export function requireRealModelsAllowed(model: string, host: string): void {
  const except = shared[FORBIDDEN] ?? (isForbiddenByEnvironment() ? [] : undefined);
  if (except === undefined || except.some((one) => one === host || one === host.replace(/:\d+$/, ''))) return;
  throw new ModelCallError(
    'model_forbidden',
    `Model "${model}" at "${host}" was not asked: requests to real models are forbidden here (forbidRealModels(), or ${FORBIDDEN_VARIABLE}). Give the run a scripted model, or except the host`,
  );
}

function isForbiddenByEnvironment(): boolean {
  const value = process.env[FORBIDDEN_VARIABLE] ?? '';
  return value !== '' && value !== '0' && value !== 'false';
}
