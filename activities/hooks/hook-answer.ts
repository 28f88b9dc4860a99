import { isJsonObject, type JsonObject } from '../../src/core/domain/json/json.ts';
import { cleanJson } from '../../src/model/clean-json.ts';

/** The answer of a hook, read. `failed`: the hook did not answer, or with something else than an answer. */
export type ReadAnswer =
  | { type: 'allow' }
  | { type: 'deny'; text?: string }
  | { type: 'modify'; changes: JsonObject }
  | { type: 'inject'; text: string }
  | { type: 'ask'; text: string }
  | { type: 'failed'; text: string };

/** Reads what a hook returned. */
export function readAnswer(returned: unknown): ReadAnswer {
  if (returned === undefined || returned === null || returned === 'allow') return { type: 'allow' };
  if (returned === 'deny') return { type: 'deny' };
  const answer = cleanJson(returned);
  const [key, ...more] = isJsonObject(answer) ? Object.keys(answer) : [];
  if (!isJsonObject(answer) || key === undefined || more.length > 0) return nonsense(answer);
  const value = answer[key];
  if (key === 'modify' && isJsonObject(value)) return { type: 'modify', changes: value };
  if (typeof value !== 'string') return nonsense(answer);
  if (key === 'deny' || key === 'inject' || key === 'ask') return { type: key, text: value.toWellFormed() };
  return key === 'error' ? { type: 'failed', text: value.toWellFormed() } : nonsense(answer);
}

function nonsense(answer: unknown): ReadAnswer {
  const shown = JSON.stringify(answer)?.slice(0, 200) ?? 'a value that is not JSON';
  return { type: 'failed', text: `it answered ${shown}, which is no answer of a hook` };
}

/** Reads the end of a command: its exit code and what it wrote. 0: the JSON that it wrote. 2: a deny. Any other: a failure. */
export function readCommandEnd(code: number | null, stdout: string, stderr: string): ReadAnswer {
  const said = stderr.trim();
  if (code === 2) return said === '' ? { type: 'deny' } : { type: 'deny', text: said };
  if (code !== 0)
    return { type: 'failed', text: `it ended with ${code === null ? 'a signal' : `exit code ${code}`}${said === '' ? '' : `: ${said}`}` };
  if (stdout.trim() === '') return { type: 'allow' };
  let written: unknown;
  try {
    written = JSON.parse(stdout);
  } catch {
    return { type: 'failed', text: `it wrote ${JSON.stringify(stdout.slice(0, 200))}, which is not JSON` };
  }
  return readWritten(written);
}

/** Reads `{"result": "deny", "reason": …}` and its like. */
function readWritten(written: unknown): ReadAnswer {
  if (!isJsonObject(written)) return nonsense(written);
  const { result, reason, changes, text, error } = written;
  if (result === 'allow') return { type: 'allow' };
  if (result === 'deny') return typeof reason === 'string' ? { type: 'deny', text: reason } : { type: 'deny' };
  if (result === 'modify') return readAnswer({ modify: changes });
  if (result === 'inject') return readAnswer({ inject: text });
  if (result === 'ask') return readAnswer({ ask: reason ?? '' });
  return result === 'error' ? readAnswer({ error: error ?? reason ?? 'it answered "error"' }) : nonsense(written);
}
