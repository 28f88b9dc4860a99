// An answer with a type: the provider enforces the schema, a wrong answer goes back to the model, and TypeScript knows the fields.
import { defineAgent } from 'longhaul';
import type { LonghaulClient } from 'longhaul/client';
import { z } from 'zod';

export const invoice = z.object({
  number: z.string(),
  due: z.iso.date(),
  total: z.number().positive(),
  lines: z.array(z.object({ what: z.string(), amount: z.number() })).min(1),
});

export const reader = defineAgent({
  name: 'invoice_reader',
  model: 'openai/gpt-5-mini',
  instructions: 'Read the invoice. Amounts are in the currency of the invoice, without its sign.',
  output: invoice,
  outputRetries: 3,
  limits: { steps: 5, totalTokens: 50_000 },
});

/** Reads an invoice from a PDF at a URL. Returns undefined if it cannot be read: the result says why. */
export async function readInvoice(client: LonghaulClient, url: string): Promise<z.output<typeof invoice> | undefined> {
  const result = await client.run(reader, {
    input: [
      { type: 'text', text: 'This invoice, please.' },
      { type: 'file', url, mediaType: 'application/pdf', name: 'invoice.pdf' },
    ],
  });
  if (result.success) return result.output; // typed: number, due, total, lines
  console.warn(result.summary()); // a limit, an error, a refusal: never an invalid invoice
  return undefined;
}
