// The plots of metrics: uPlot.
export { default } from "uplot";
