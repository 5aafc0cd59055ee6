// A panel of a lab: figures with what each means, a table whose shade is its value, and sentences. Text only.

import { make } from '../../player/draw/dom.js';

const place = element.querySelector('.sv-panel');

const panelCard = ({ title, value, notes, tone }) => make('section', 'sv-card', make('h3', '', title),
  make('div', value === null ? 'sv-figure sv-missing' : 'sv-figure', value ?? 'not measured yet'),
  ...notes.map((note, i) => make('p', i === notes.length - 1 && tone ? `sv-${tone}` : '', note)));

const gridCell = ({ text, note, shade, best }) => {
  const node = make('td', best ? 'sv-best' : '', make('b', '', text), note ? make('small', '', note) : null);
  if (shade !== null) node.style.setProperty('--shade', shade);
  return node;
};

const gridRow = ({ head, cells }) => {
  const heading = make('th', '', head);
  heading.scope = 'row';
  return make('tr', '', heading, ...cells.map(gridCell));
};

const panelGrid = ({ caption, corner, columns, rows }) =>
  make('div', 'sv-scroll',
    make('table', 'sv-table',
      make('caption', '', caption),
      make('thead', '',
        make('tr', '',
          make('td', '', corner),
          ...columns.map((text) => {
            const head = make('th', '', text);
            head.scope = 'col';
            return head;
          }),
        ),
      ),
      make('tbody', '', ...rows.map(gridRow)),
    ),
  );

const drawPanel = () => {
  const { cards, grid, lines } = props.value ? JSON.parse(props.value) : { cards: [], grid: null, lines: [] };
  place.replaceChildren(...(cards.length ? [make('div', 'sv-cards', ...cards.map(panelCard))] : []), ...(grid ? [panelGrid(grid)] : []),
    ...lines.map((line) => make('p', 'sv-line-of-lab', line)));
};

watch('value', drawPanel);
drawPanel();
