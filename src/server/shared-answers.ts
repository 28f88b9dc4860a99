import type { LonghaulClient } from '../client/longhaul-client.ts';
import type { Reply } from './route.ts';

/** The answer in progress, and the next one, for requests that have arrived since it began. */
interface Answers {
  current: Promise<Reply>;
  next?: Promise<Reply>;
}

const underWay = new WeakMap<LonghaulClient, Map<string, Answers>>();

/**
 * Returns the answer to a request, shared with other callers. Requests that arrive while an answer is computed all get the next one,
 * which includes everything up to their arrival. So a service computes two answers, however many pages ask at once. The answer must
 * depend only on the question and the client's principal.
 */
export async function sharedAnswer(client: LonghaulClient, question: string, answer: () => Promise<Reply>): Promise<Reply> {
  const ofClient = underWay.get(client) ?? new Map<string, Answers>();
  underWay.set(client, ofClient);
  const begin = (): Promise<Reply> => {
    const answers: Answers = { current: answer() };
    ofClient.set(question, answers);
    const end = (): void => void (answers.next === undefined && ofClient.delete(question));
    answers.current.then(end, end);
    return answers.current;
  };
  const known = ofClient.get(question);
  if (known === undefined) return begin();
  known.next ??= known.current.then(begin, begin);
  return known.next;
}
