import { z } from 'zod';
import { defineTool, ToolFailure, toolOutput } from '../../src/index.ts';
import { HALF_CHARACTER, type Stage, type Tools } from './conversation.ts';

/** A picture of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The tools of the table. Each records the calls that it runs. */
export function toolKit(stage: Pick<Stage, 'ran' | 'whileSlow'>): Tools {
  const note = (name: string, args: object): void => void stage.ran.push([name, structuredClone(args)]);
  return [
    defineTool({
      name: 'look_up',
      description: 'Looks up an order',
      parameters: z.object({ order: z.number() }),
      execute: (args) => {
        note('look_up', args);
        return `Order ${args.order} is on its way.`;
      },
    }),
    defineTool({
      name: 'pay',
      description: 'Pays an amount',
      effect: 'once',
      parameters: z.object({
        order: z.number().optional(),
        amount: z.number().optional(),
        to: z.string().optional(),
        note: z.string().optional(),
        urgent: z.boolean().optional(),
        paths: z.array(z.string()).optional(),
        items: z.array(z.object({ id: z.number() })).optional(),
      }),
      execute: (args) => {
        note('pay', args);
        return 'paid';
      },
    }),
    defineTool({
      name: 'photo',
      description: 'Takes a photo of a parcel',
      parameters: z.object({ order: z.number() }),
      execute: (args) => {
        note('photo', args);
        return toolOutput([{ type: 'image', data: PIXEL, mediaType: 'image/png' }]);
      },
    }),
    defineTool({
      name: 'break',
      description: 'Fails',
      parameters: z.object({ order: z.number() }),
      execute: (args) => {
        note('break', args);
        throw new ToolFailure('there is no such order');
      },
    }),
    defineTool({
      name: 'echo',
      description: 'Says a text again',
      parameters: z.object({ text: z.string() }),
      execute: (args) => {
        note('echo', args);
        return args.text;
      },
    }),
    defineTool({
      name: 'nothing',
      description: 'Returns an empty text',
      parameters: z.object({}),
      execute: (args) => {
        note('nothing', args);
        return '';
      },
    }),
    defineTool({
      name: 'half',
      description: 'Returns half of a character',
      parameters: z.object({}),
      execute: (args) => {
        note('half', args);
        return `cut ${HALF_CHARACTER}`;
      },
    }),
    defineTool({
      name: 'slow',
      description: 'Takes its time',
      parameters: z.object({ order: z.number() }),
      execute: async (args, { signal }) => {
        note('slow', args);
        stage.whileSlow?.();
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, 30);
          signal.addEventListener('abort', () => resolve(), { once: true });
          signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
        });
        return 'done';
      },
    }),
  ];
}
