import { callTool, failWith, say, scriptedModel } from '../../../src/testing/index.ts';
import { agentWith, ran, type Scenario } from './scenario.ts';
import { look } from './answers.ts';

const FIRST = 'first/large';
const SECOND = 'second/small';
const agent = agentWith([look], { model: [FIRST, SECOND] });
const TIMELINE = ['user: Go', ...ran('look {}', 'seen'), 'agent: Done.'];

/** Agents with several models. */
export const MODEL_LISTS: readonly Scenario[] = [
  {
    name: 'a model that fails is followed by the next one, which makes all calls of the turn',
    agent,
    options: () => ({
      input: 'Go',
      model: { [FIRST]: scriptedModel([failWith('model_server_error')]), [SECOND]: scriptedModel([callTool('look'), say('Done.')]) },
    }),
    timeline: TIMELINE,
    status: 'completed',
  },
  {
    name: 'a model that fails in the middle of a turn is followed by the next one',
    agent,
    options: () => ({
      input: 'Go',
      model: { [FIRST]: scriptedModel([callTool('look'), failWith('model_unauthorized')]), [SECOND]: scriptedModel([say('Done.')]) },
    }),
    timeline: TIMELINE,
    status: 'completed',
  },
  {
    name: 'if all models of a list fail for good, the run ends with an error',
    agent,
    options: () => ({
      input: 'Go',
      model: { [FIRST]: scriptedModel([failWith('model_server_error')]), [SECOND]: scriptedModel([failWith('model_not_found')]) },
    }),
    timeline: ['user: Go'],
    status: 'error',
  },
];
