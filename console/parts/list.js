// A list of any length, of which only the rows in sight are in the document. Rows have one height,
// so that the place of each is known without measuring.
import {
  html,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "../vendor/preact.js";
import { useKeys } from "../core/keys.js";

const BEYOND = 8;

/**
 * `columns`: `[{label, width, wide?, class?}]`; `rows`: an array; `cells(row)`: the row's cells.
 * `link(row)`: the row's address, which a click and Enter open; `name(row)`: what the link is
 * called. `j` and `k` move the cursor. `plain` hides the heads of the columns. `onEnd()` is called
 * near the last row, to load more.
 */
export function List({
  columns,
  rows,
  cells,
  id,
  link,
  name,
  active,
  rowHeight = 52,
  narrowHeight = 64,
  label,
  columnsNarrow = "minmax(0,1fr)",
  onEnd,
  foot,
  plain,
}) {
  const body = useRef();
  const [view, setView] = useState({ top: 0, height: 600 });
  const narrow = useNarrow();
  const height = narrow ? narrowHeight : rowHeight;
  const { last, first } = rowsInSight(view, height, rows);

  useMeasure(body, setView);

  useEffect(() => {
    if (onEnd && rows.length && last >= rows.length - BEYOND) onEnd();
  }, [last, rows, onEnd]); // by their number alone, it would keep the rows that it saw first

  useAnchor({ rows, view, body, height, id });

  const [cursor, setCursor] = useCursor({ rows, height, active, label, body, id, link });

  return html`
    <div
      class="grid-list"
      style=${widthsOf(columns, columnsNarrow)}
      role="table"
      aria-label=${label}
      aria-rowcount=${rows.length + 1}
    >
      <div role="rowgroup">
        <${Head} plain=${plain} columns=${columns} />
      </div>
      <${Body}
        body=${body}
        label=${label}
        rows=${rows}
        height=${height}
        first=${first}
        last=${last}
        id=${id}
        active=${active}
        cursor=${cursor}
        cells=${cells}
        narrow=${narrow}
        link=${link}
        name=${name}
        setCursor=${setCursor}
      />
      ${foot}
    </div>
  `;
}

const widthsOf = (columns, columnsNarrow) => ({
  "--columns": columns.map((each) => each.width).join(" "),
  "--columns-narrow": columnsNarrow,
});

function rowsInSight(view, height, rows) {
  const first = Math.max(0, Math.floor(view.top / height) - BEYOND);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / height) + BEYOND);
  return { last, first };
}

function Body({
  body,
  label,
  rows,
  height,
  first,
  last,
  id,
  active,
  cursor,
  cells,
  narrow,
  link,
  name,
  setCursor,
}) {
  return html`
    <div class="grid-body" role="rowgroup" ref=${body} tabindex="0" aria-label="Rows of ${label}">
      <div class="grid-space" role="presentation" style=${{ height: `${rows.length * height}px` }}>
        ${rows.slice(first, last).map((row, offset) => {
          const index = first + offset;
          const rowId = id(row);
          const looks = `${rowId === active ? "active" : ""} ${index === cursor ? "cursor" : ""}`;
          return html`
            <${GridRow}
              key=${rowId}
              looks=${looks}
              rowId=${rowId}
              index=${index}
              height=${height}
              cells=${cells}
              row=${row}
              narrow=${narrow}
              link=${link}
              name=${name}
              active=${active}
              setCursor=${setCursor}
            />
          `;
        })}
      </div>
    </div>
  `;
}

function GridRow({
  looks,
  rowId,
  index,
  height,
  cells,
  row,
  narrow,
  link,
  name,
  active,
  setCursor,
}) {
  return html`
    <div
      class="grid-row ${looks}"
      role="row"
      aria-rowindex=${index + 2}
      style=${{ top: `${index * height}px`, height: `${height}px` }}
      onClick=${() => setCursor(index)}
    >
      ${cells(row, narrow)}
      <span role="cell" class="cover">
        <a
          href=${link(row)}
          tabindex="-1"
          aria-label=${name(row)}
          aria-current=${rowId === active ? "true" : undefined}
        ></a>
      </span>
    </div>
  `;
}

function Head({ plain, columns }) {
  return html`
    <div class="grid-head ${plain ? "visually-hidden" : ""}" role="row" aria-rowindex="1">
      ${columns.map(
        (each) => html`<span role="columnheader" class=${each.class ?? ""}>${each.label}</span>`,
      )}
    </div>
  `;
}

/** The row that keys go to, and open. */
function useCursor({ rows, height, active, label, body, id, link }) {
  const [cursor, setCursor] = useState(-1);
  const move = useCallback(
    (step) => {
      setCursor((former) => {
        const start = former >= 0 ? former : rows.findIndex((row) => id(row) === active);
        const index = Math.min(rows.length - 1, Math.max(0, start + step));
        const element = body.current;
        const top = index * height;
        if (top < element.scrollTop) element.scrollTop = top;
        if (top + height > element.scrollTop + element.clientHeight)
          element.scrollTop = top + height - element.clientHeight;
        return index;
      });
    },
    [rows, height, active],
  );
  useEffect(() => setCursor(-1), [label]);
  const open = () => {
    if (rows[cursor]) location.hash = link(rows[cursor]);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: open,
  });
  return [cursor, setCursor];
}

function useAnchor({ rows, view, body, height, id }) {
  // New rows above leave what is being read where it is, unless the top is in sight.
  const anchor = useRef(null);
  useLayoutEffect(() => {
    const element = body.current;
    const former = anchor.current;
    if (former && element.scrollTop > height) {
      const now = rows.findIndex((row) => id(row) === former.id);
      if (now > former.index) element.scrollTop += (now - former.index) * height;
    }
    const index = Math.floor(element.scrollTop / height);
    anchor.current = rows[index] ? { id: id(rows[index]), index } : null;
  }, [rows, view.top]);
}

/** Keep in the state which part of the rows is in sight. */
function useMeasure(body, setView) {
  useLayoutEffect(() => {
    const element = body.current;
    const measure = () =>
      setView((former) =>
        former.top === element.scrollTop && former.height === element.clientHeight
          ? former
          : { top: element.scrollTop, height: element.clientHeight },
      );
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
}

/** Whether the window is as narrow as a phone. */
export function useNarrow() {
  const query = useRef(window.matchMedia("(max-width: 860px)"));
  const [narrow, setNarrow] = useState(query.current.matches);
  useEffect(() => {
    const change = () => setNarrow(query.current.matches);
    query.current.addEventListener("change", change);
    return () => query.current.removeEventListener("change", change);
  }, []);
  return narrow;
}
