// Ask the API about content while it is written.
import { useEffect, useState } from "../vendor/preact.js";
import { post } from "../core/api.js";
import { useSettled } from "../core/resource.js";
import { may } from "../core/service.js";
import { editable } from "../core/templates.js";

/** @type {{errors: Api.Error[], variables: any[], preview: any}} */
const NOTHING = { errors: [], variables: [], preview: null };

/**
 * What the API says about the content of a template, or of a snippet, with this data: its errors
 * and variables, and the last preview that worked. Content that is null is not asked about.
 */
export function useJudged(content, data, snippet = false) {
  const settled = useSettled(
    JSON.stringify(
      content && {
        content: editable({ content }).content,
        substitution_data: data ?? {},
        ...(snippet && { snippet }),
      },
    ),
    300,
  );
  const able = may("templates/preview") && content !== null;
  const [result, setResult] = useState({ ...NOTHING, able, pending: able });
  useEffect(() => {
    if (!able || settled === "null") return undefined;
    const abort = new AbortController();
    const body = JSON.parse(settled);
    const { signal } = abort;
    const judge = async () => {
      const validity = await post("api/v1/utils/content-validator", body, { signal }).then(
        (answer) => answer.results,
        (error) => ({ errors: faults(error), variables: [] }),
      );
      const { content, substitution_data } = body;
      // What has errors at a place of its own cannot be rendered.
      const preview = validity.errors.some((each) => each.line)
        ? {}
        : await post(
            "api/v1/utils/content-previewer",
            { content, substitution_data },
            { signal },
          ).then(
            (answer) => ({ parts: answer.results }),
            (error) => ({ errors: faults(error) }),
          );
      if (signal.aborted) return;
      const errors = validity.errors.length ? validity.errors : (preview.errors ?? []);
      setResult((former) => ({
        able,
        errors,
        variables: validity.variables,
        preview: preview.parts ?? former.preview,
        pending: false,
      }));
    };
    judge();
    return () => abort.abort();
  }, [settled, able]);
  return { ...result, able };
}

const faults = (error) => (error.errors?.length ? error.errors : [{ message: error.message }]);
