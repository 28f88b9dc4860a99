import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { RunOpening } from '../../../src/core/domain/run-input.ts';
import { callTool, type ExpectedLine, say, scriptedModel, type ScriptEntry } from '../../../src/testing/index.ts';
import { agentWith, ran, type Scenario, toolThat } from './scenario.ts';

const agent = agentWith([toolThat('look', () => 'seen')]);

const asked: ContentItem = { type: 'message', role: 'user', content: 'Look' };
const looks: ContentItem[] = [
  { type: 'message', role: 'assistant', content: 'I look.' },
  { type: 'tool_call', toolCallId: 'old', name: 'look', arguments: {} },
];
const seen: ContentItem = { type: 'tool_result', toolCallId: 'old', name: 'look', status: 'success', content: ['was seen'] };

function opening(
  name: string,
  parts: { opening: RunOpening; script: readonly ScriptEntry[]; timeline: readonly ExpectedLine[] },
): Scenario {
  const { script, timeline } = parts;
  return { name, agent, options: () => ({ ...parts.opening, model: scriptedModel(script) }), timeline, status: 'completed' };
}

/** The conversations that a run may begin with in addition to an input. */
export const OPENINGS = [
  opening('a run begins with messages and an input', {
    opening: { messages: [asked, ...looks, seen, { type: 'message', role: 'assistant', content: 'There.' }], input: 'Again' },
    script: [callTool('look'), say('Done.')],
    timeline: [
      'user: Look',
      'agent: I look.',
      ...ran('look {}', 'was seen'),
      'agent: There.',
      'user: Again',
      ...ran('look {}', 'seen'),
      'agent: Done.',
    ],
  }),
  opening('a run begins with messages that need a response', {
    opening: { messages: [asked, ...looks, seen] },
    script: [say('Done.')],
    timeline: ['user: Look', 'agent: I look.', 'agent calls look {}', 'look: was seen', 'agent: Done.'],
  }),
  opening('a run begins with a call that has no result, and does not make it', {
    opening: { messages: [asked, ...looks], input: [{ type: 'text', text: 'Well?' }] },
    script: [say('Done.')],
    timeline: ['user: Look', 'agent: I look.', 'agent calls look {}', 'user: Well?', 'agent: Done.'],
  }),
];
