import { expect, test } from 'vitest';
import { engineModule } from '../../../../activities/executors/quickjs/quickjs-executor.ts';
import { readProgram } from '../../../../activities/executors/quickjs/thread/cells.ts';
import { Parser } from '../../../../activities/executors/quickjs/thread/engine.ts';

test('many cells leave the parser with memory for the next', async () => {
  const parser = await Parser.create(engineModule());
  const cell = Array.from({ length: 2_000 }, (_, index) => `function f${index}(x) { return x + ${index} }`).join('\n');
  for (let index = 0; index < 90; index += 1) {
    await parser.renew();
    expect(readProgram(parser, cell, [])).not.toHaveProperty('kind');
  }
}, 60_000);
