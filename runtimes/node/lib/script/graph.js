module.exports={graphText(){return ""}}
