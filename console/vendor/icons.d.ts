/** The name of an icon → what is inside its SVG. */
export const icons: Record<string, string>;
