// The agent asks a person by a form: the schema of the answer is the form, and an answer that does not fit is refused.
import { askHuman, defineAgent } from 'longhaul';
import type { LonghaulClient } from 'longhaul/client';
import { z } from 'zod';

const askForDelivery = askHuman({
  name: 'ask_for_delivery',
  description: 'Asks the customer where and when to deliver. They see `question`.',
  answer: z.object({
    street: z.string().min(3).describe('Street and number'),
    day: z.enum(['monday', 'thursday']).describe('Day of delivery'),
    gift: z.boolean().describe('Wrap it as a gift'),
  }),
});

export const concierge = defineAgent({
  name: 'concierge',
  model: 'openai/gpt-5-mini',
  instructions: 'You arrange deliveries. Ask for what you do not know.',
  tools: [askForDelivery],
});

/** A field of the form: what a page needs to draw it. */
export interface Field {
  name: string;
  label: string;
  type: string;
  choices?: readonly string[];
}

interface FieldSchema {
  type: string;
  description?: string;
  enum?: readonly string[];
}

/** Returns the form that a run waits for, days later and from any process; undefined if it waits for none. */
export async function formOf(client: LonghaulClient, runId: string): Promise<{ callId: string; fields: Field[] } | undefined> {
  const { pending } = await client.handle(runId).approvals();
  const question = pending.find(({ kind }) => kind === 'question');
  if (question === undefined) return undefined;
  const { properties = {} } = question.answer as { properties?: Record<string, FieldSchema> };
  const fields = Object.entries(properties).map(([name, { type, description, enum: choices }]) => ({
    name,
    label: description ?? name,
    type,
    ...(choices === undefined ? {} : { choices }),
  }));
  return { callId: question.callId, fields };
}

/** Sends the filled-in form. Throws `invalid_answer` for one that does not fit, and the run keeps waiting. */
export async function fillIn(
  client: LonghaulClient,
  runId: string,
  callId: string,
  values: Record<string, string | boolean>,
): Promise<void> {
  await client.handle(runId).respond(callId, values);
}
