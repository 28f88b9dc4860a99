import type { StepError } from '../../domain/verdicts.ts';

/** Returns the text of a failure for the next attempt of a model and for people: what happened, once. `formatError` gives AXON's form. */
export function failureText({ message, context: { details = '' }, cause }: StepError): string {
  if (cause !== undefined) return `${message} The last one: ${failureText(cause)}`;
  // Most messages quote the details from their beginning; long ones are cut.
  return message.includes(details.slice(0, QUOTED)) ? message : `${message}\n${details}`;
}

const QUOTED = 200;
