import { expect, test } from 'vitest';
import { chatCompletion, chatStream, outputMessage, responsesStream } from '../../fakes/openai-answers.ts';
import type { Handler } from '../../fakes/openai-server.ts';
import { fakeProvider } from './fake-provider.ts';

const { ask } = fakeProvider();
const PAGE = { url: 'https://moon.test/', title: 'Moon' };
const CITED = { ...PAGE, start_index: 2, end_index: 5 };
const text = (content: string, annotations: object[]): object => ({ type: 'output_text', text: content, annotations });
const inChat = { content: 'Hi', annotations: [{ type: 'url_citation', url_citation: CITED }, { type: 'other' }, null] };

test.each<[what: string, api: 'chat' | 'responses', handler: Handler, sources: object[] | undefined]>([
  [
    'of a Responses answer, with places in the whole text',
    'responses',
    responsesStream([
      { ...outputMessage(''), content: [text('Hello. ', []), text('Far away.', [{ type: 'url_citation', ...CITED }])] },
      { ...outputMessage(''), content: [text('End.', [{ type: 'file_citation', file_id: 'f', filename: 'n.pdf', index: 3 }])] },
    ]),
    [{ ...PAGE, start: 9, end: 12 }, { filename: 'n.pdf' }],
  ],
  ['of a streamed chat answer', 'chat', chatStream([{ content: 'Hi' }, { ...inChat, content: '' }]), [{ ...PAGE, start: 2, end: 5 }]],
  ['of a chat answer that is not streamed', 'chat', chatCompletion(inChat), [{ ...PAGE, start: 2, end: 5 }]],
  ['of an answer without any', 'responses', responsesStream([outputMessage('Hi')]), undefined],
])('the annotations %s are its sources', async (_, api, handler, sources) => {
  expect((await ask(handler, { options: { api } })).sources).toEqual(sources);
});
