import { z } from 'zod';
import { ask, sleep, tool, unit } from '../../../../src/define/program/index.ts';
import { defineProgram } from '../../../../src/index.ts';
import { say } from '../../../../src/testing/index.ts';
import { search } from '../../../server/testbed/agents.ts';
import type { ProgramScenario } from '../../scenario.ts';
import { odd } from './definitions.ts';

const graph = defineProgram({
  name: 'graph',
  model: 'scripted/m',
  input: z.object({ wanted: z.boolean() }),
  units: [
    unit('join', { needs: ['left', 'right'] }, [tool('Joined', search, { query: '{{left.A}} {{right.B}}' })]),
    unit('left', { needs: [] }, [sleep('Nap', '300ms'), ask('A', 'a')]),
    unit('right', { needs: [] }, [tool('B', search, { query: 'b' })]),
    unit('unwanted', { needs: ['right'], when: { of: 'input.wanted', is: { const: true } } }, [ask('Never', 'never')]),
    unit('after', { needs: ['unwanted'] }, [ask('NeverEither', 'never')]),
    unit('bad', { needs: ['right'] }, [tool('Even', odd, { n: 2 })]),
    unit('after_bad', { needs: ['bad'] }, [ask('NotAfterIt', 'never')]),
  ],
  output: '{{join.Joined}}',
});

const inOrder = defineProgram({
  name: 'in_order',
  model: 'scripted/m',
  input: z.object({ wanted: z.boolean() }),
  units: [
    unit('one', {}, [ask('A', 'a')]),
    unit('unwanted', { when: { of: 'one.A', is: { const: 'b' } } }, [ask('Never', 'never')]),
    unit('two', { persona: 'You know {{one.A}}.', when: { of: 'one.A', is: { const: 'a' } } }, [
      ask('B', 'b', { when: { of: 'input.wanted', is: { const: true } } }),
      tool('C', search, { query: '{{one.A}} {{B}}' }),
    ]),
  ],
  output: { a: '{{one.A}}', c: '{{two.C}}' },
});

/** Units in their order and as a graph. */
export const units: Record<string, ProgramScenario> = {
  'program-as-a-graph-of-units': { program: graph, start: { input: { wanted: false } }, script: [say('a')] },
  'program-given-as-a-document': { program: inOrder, asDocument: true, start: { input: { wanted: false } }, script: [say('a')] },
};
