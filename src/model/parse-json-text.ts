import { errorMessage } from '../core/domain/errors.ts';
import { type JsonValue, MAX_JSON_DEPTH } from '../core/domain/json.ts';
import { cleanParsed } from './clean-json.ts';
import { type LooseJson, parseLooseJson } from './parse-loose-json.ts';

/** The value of JSON text, or the reason why it cannot be used. */
export type ParsedText = { ok: true; value: JsonValue; repaired: boolean } | { ok: false; problem: string };

/**
 * Parses JSON text of a model. Text that `JSON.parse` refuses is read as JSON in another spelling (see
 * `parseLooseJson`), which never adds what is missing: a text that ends inside of a value is a problem, whatever the
 * finish reason of its answer says. `complete: false` (the provider says that the answer was cut off) takes JSON alone.
 */
export function parseJsonText(text: string, complete: boolean): ParsedText {
  let strictProblem: string;
  try {
    return cleaned(JSON.parse(text) as JsonValue, false);
  } catch (error) {
    strictProblem = errorMessage(error).toWellFormed();
  }
  if (!complete) return { ok: false, problem: `the answer was cut off: ${strictProblem}` };
  const loose = parseLooseJson(text);
  switch (loose.type) {
    case 'value':
      return cleaned(loose.value, true);
    case 'cut':
      return { ok: false, problem: cutProblem(loose) };
    case 'invalid':
      return { ok: false, problem: `${loose.problem}; ${strictProblem}` };
  }
}

function cutProblem({ inside }: Extract<LooseJson, { type: 'cut' }>): string {
  return `the text was cut off: it ends inside of ${inside}. Nothing was done with it. Send it again, complete, and shorter if it was too long`;
}

function cleaned(given: JsonValue, repaired: boolean): ParsedText {
  const value = cleanParsed(given);
  if (value !== undefined) return { ok: true, value, repaired };
  return { ok: false, problem: `it is nested deeper than ${MAX_JSON_DEPTH} levels` };
}
